import { performance } from 'node:perf_hooks'

/**
 * Events are found by the time at which their transaction began. One that commits late appears
 * among events that were read before, but no transaction lasts this long.
 */
export const LONGEST_TRANSACTION_SECONDS = 60
/** The clock of the database gains more on that of the process only if one of them was set. */
const LARGEST_GAIN_SECONDS = 5

/**
 * Returns a function that is told the time of the database with each pass, and returns whether that
 * clock was set forward just before: transactions that began earlier may still be open, and the
 * times of their events are further back than a pass would look.
 */
export function watchSteps() {
  let last: { seconds: number; at: number } | undefined
  let steppedAt = Number.NEGATIVE_INFINITY
  return (seconds: number) => {
    const at = performance.now()
    const gained = last ? seconds - last.seconds - (at - last.at) / 1_000 : 0
    if (gained > LARGEST_GAIN_SECONDS) steppedAt = at
    last = { seconds, at }
    return at - steppedAt < LONGEST_TRANSACTION_SECONDS * 1_000
  }
}
