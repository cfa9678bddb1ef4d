import { performance } from 'node:perf_hooks'

/**
 * Events are found by the time at which their transaction began. One that commits late appears
 * among events that were read before, but no transaction lasts this long.
 */
export const LONGEST_TRANSACTION_SECONDS = 60
/** The clock of the database gains more on that of the process only if one of them was set. */
const LARGEST_GAIN_SECONDS = 1

/**
 * Returns a function to call at each poll, with the time of the database and when it was asked
 * for. It returns whether that clock was set forward just before: transactions that began earlier
 * may still be open, and the times of their events are further back than a pass would look.
 */
export function watchSteps() {
  let last: { seconds: number; askedAt: number } | undefined
  let steppedAt = Number.NEGATIVE_INFINITY
  return (seconds: number, askedAt: number) => {
    const now = performance.now()
    // No more time has passed between the two readings: an answer that was slow is no step.
    const mostPassed = last ? (now - last.askedAt) / 1_000 : Number.POSITIVE_INFINITY
    if (seconds - (last?.seconds ?? 0) - mostPassed > LARGEST_GAIN_SECONDS) steppedAt = now
    last = { seconds, askedAt }
    return now - steppedAt < LONGEST_TRANSACTION_SECONDS * 1_000
  }
}
