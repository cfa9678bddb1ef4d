/** A delay in milliseconds that is longer than any test, so that its timer never fires. */
export const NEVER = 3_600_000

/** Timings of a node that does nothing by itself, so that its statements can be counted. */
export const quietTimings = { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER }
