import { AsyncResource } from 'node:async_hooks'

/** For how long a turn of the event loop begins requests. */
const TURN_MS = 2

/**
 * Begins requests for a moment of each turn of the event loop, in their order, and leaves the rest
 * to later turns. A turn accepts one connection only: if it answered all requests that have
 * arrived, a few clients with many requests would keep everybody else from connecting.
 */
export function createRequestTurns(now = () => performance.now()) {
  const waiting: (() => void)[] = []
  let endsAt = 0
  let isUnderWay = false

  const beginTurn = () => {
    isUnderWay = true
    endsAt = now() + TURN_MS
    // Runs before those that wait: it was there first.
    setImmediate(() => {
      isUnderWay = false
      if (waiting.length > 0) beginTurn()
    })
  }
  /** Of each that waits one, which begins the first: what one causes comes behind the others. */
  const beginFirst = () => {
    if (now() >= endsAt) setImmediate(beginFirst)
    else waiting.shift()?.()
  }
  return (begin: () => void) => {
    if (!isUnderWay) beginTurn()
    if (waiting.length === 0 && now() < endsAt) return begin()
    waiting.push(AsyncResource.bind(begin))
    setImmediate(beginFirst)
  }
}
