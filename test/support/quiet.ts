/** So many milliseconds that it never happens while a test runs. */
export const NEVER = 3_600_000

/** Of a node that does nothing by itself, such as where its statements are counted. */
export const quietTimings = { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER }
