import { setTimeout } from 'node:timers/promises'
import { type ConnectTarget, closedSocket, socketTo } from './single-socket.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
/** A connection that was made so long ago has worked: the next one follows at once. */
const STEADY_MS = 5_000

/**
 * The `socket` option of a Postgres.js client that reconnects. If its connections end before their
 * start-up is answered, Postgres.js makes one after the other without a pause; if they are refused,
 * its pauses grow to 20 s. These grow to one second, and are all there are with `backoff: () => 0`.
 */
export function pacedSockets() {
  const ended = new AbortController()
  const { signal } = ended
  let pauseMs = 0
  let madeAt = Number.NEGATIVE_INFINITY
  const open = async (address: ConnectTarget) => {
    const isSteady = performance.now() - madeAt > STEADY_MS
    pauseMs = isSteady ? 0 : Math.min(Math.max(FIRST_PAUSE_MS, 2 * pauseMs), LONGEST_PAUSE_MS)
    // Not all nodes knock at the same moment.
    const jitteredMs = pauseMs * (1 - Math.random() / 2)
    if (pauseMs > 0) await setTimeout(jitteredMs, undefined, { signal }).catch(() => {})
    madeAt = performance.now()
    // Postgres.js would use a socket that it gets after it was ended.
    return signal.aborted ? closedSocket() : socketTo(address)
  }
  return { open, end: () => ended.abort() }
}
