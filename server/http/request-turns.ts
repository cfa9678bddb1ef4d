import { AsyncResource } from 'node:async_hooks'
import { FairQueue } from '../core/fair-queue.ts'

/** For how long a turn of the event loop begins requests. */
const TURN_MS = 2
/** How many of those that wait a turn begins at most, however little time they take. */
const MOST_BEGUN = 64

/**
 * Begins requests for a moment of each turn of the event loop, and leaves the rest to later turns.
 * A turn accepts one connection only: if it answered all requests that have arrived, a few clients
 * with many requests would keep everybody else from connecting. Of those that wait, callers
 * alternate, and those of each begin in their order.
 */
export function createRequestTurns(now = () => performance.now()) {
  const waiting = new FairQueue<() => void>()
  /** How many of them the next turn looks at. */
  let due = 0
  let endsAt = 0
  let isUnderWay = false

  const beginTurn = () => {
    isUnderWay = true
    endsAt = now() + TURN_MS
    // Runs before those that wait: it was there first.
    setImmediate(() => {
      isUnderWay = false
      if (waiting.size > 0) beginTurn()
    })
  }
  /** Each apart, so that Node.js ends the promises of one, whose time counts, before the next. */
  const beginFirst = () => {
    if (now() < endsAt) waiting.shift()?.()
    if (waiting.size >= due) setImmediate(beginFirst)
    else due -= 1
  }
  /** `callerOf` is asked only if the request has to wait. */
  return (callerOf: () => string, begin: () => void) => {
    if (!isUnderWay) beginTurn()
    if (waiting.size === 0 && now() < endsAt) return begin()
    waiting.push(callerOf(), AsyncResource.bind(begin))
    if (due === MOST_BEGUN) return
    due += 1
    setImmediate(beginFirst)
  }
}
