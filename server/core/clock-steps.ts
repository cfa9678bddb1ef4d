/** Smaller differences come from the time of a query, or from clocks that drift. */
const LEAST_STEP_MS = 1_000

type Between = { from: number; to: number }

/** Detects from readings of another clock whether it was set, forward or back, between two. */
export function createClockSteps() {
  /** How far the other clock is ahead of ours, at least and at most. */
  let last: { least: number; most: number } | undefined
  return {
    /** The other clock showed `at` between two times of ours. Returns whether it was set before. */
    isStep: (at: number, { from, to }: Between) => {
      const before = last
      last = { least: at - to, most: at - from }
      if (!before) return false
      const forward = last.least - before.most
      const back = before.least - last.most
      return Math.max(forward, back) > LEAST_STEP_MS
    },
  }
}
