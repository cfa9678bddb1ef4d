/** For how long a turn of the event loop begins requests. */
const TURN_MS = 2

/**
 * Begins requests for a moment of each turn of the event loop, in their order, and leaves the rest
 * to later turns. A turn accepts one connection only: if it answered all requests that have
 * arrived, a few clients with many requests would keep everybody else from connecting.
 */
export function createRequestTurns(now = () => performance.now()) {
  let waiting = 0
  let endsAt = 0
  let isUnderWay = false

  const beginTurn = () => {
    isUnderWay = true
    endsAt = now() + TURN_MS
    // Runs before those that wait: it was there first.
    setImmediate(() => {
      isUnderWay = false
      if (waiting > 0) beginTurn()
    })
  }
  const wait = (begin: () => void) => {
    setImmediate(() => {
      if (now() >= endsAt) return wait(begin)
      waiting -= 1
      begin()
    })
  }
  return (begin: () => void) => {
    if (!isUnderWay) beginTurn()
    if (waiting === 0 && now() < endsAt) return begin()
    waiting += 1
    wait(begin)
  }
}
