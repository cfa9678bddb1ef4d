import { performance } from 'node:perf_hooks'

/**
 * How many refusals of an app a process keeps for the operator in an hour, each with up to a
 * hundred pushes. A workflow that is switched off may refuse every push, and they are kept for
 * days.
 */
export const KEPT_AN_HOUR = 100
/** How many it keeps in an hour of all apps together. */
export const KEPT_OF_ALL = 1_000
const HOUR_MS = 3_600_000

/** Returns whether one more of an app may be kept, and counts it. */
export function limitKept() {
  let endsAt = Number.NEGATIVE_INFINITY
  let room = 0
  const keptOf = new Map<string, number>()
  return (appId: string) => {
    const now = performance.now()
    if (now >= endsAt) {
      ;[endsAt, room] = [now + HOUR_MS, KEPT_OF_ALL]
      keptOf.clear()
    }
    const kept = keptOf.get(appId) ?? 0
    if (room === 0 || kept === KEPT_AN_HOUR) return false
    room -= 1
    keptOf.set(appId, kept + 1)
    return true
  }
}
