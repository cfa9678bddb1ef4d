import { performance } from 'node:perf_hooks'

/** How often it is looked whether the event loop has time to spare. */
const LOOK_MS = 100
const BUSY_SHARE = 0.9

/** Returns whether the event loop was busy in the last tenth of a second or so. */
export function createLoopWatch() {
  let last = performance.eventLoopUtilization()
  let lookedAt = performance.now()
  let isBusy = false
  return () => {
    const now = performance.now()
    if (now - lookedAt < LOOK_MS) return isBusy
    const current = performance.eventLoopUtilization()
    isBusy = performance.eventLoopUtilization(current, last).utilization > BUSY_SHARE
    last = current
    lookedAt = now
    return isBusy
  }
}
