import { performance } from 'node:perf_hooks'

/**
 * How many refusals a process keeps for the operator in an hour, each with up to a hundred pushes:
 * a workflow that is switched off may refuse every push, and they are kept for days.
 */
export const KEPT_AN_HOUR = 100
const HOUR_MS = 3_600_000

/** Returns whether one more may be kept, and counts it. */
export function limitKept() {
  let endsAt = Number.NEGATIVE_INFINITY
  let kept = 0
  return () => {
    const now = performance.now()
    if (now >= endsAt) [endsAt, kept] = [now + HOUR_MS, 0]
    kept += 1
    return kept <= KEPT_AN_HOUR
  }
}
