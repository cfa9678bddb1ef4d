import { limits } from '@parley/contract'

/** The clocks of real time, in milliseconds. Tests shorten them. */
export const timings = {
  /** So long a socket may stay without a connect. */
  connectMs: 10_000,
  pingMs: 25_000,
  pongMs: 8_000,
  /** So long after its token's end a connection may still refresh. */
  expiryGraceMs: 25_000,
  reconcileMs: 5_000,
  beatMs: 15_000,
  /** A node is dead when it has not beaten for so long. */
  deadAfterMs: limits.realtime.nodeDeadSeconds * 1_000,
  typingMs: limits.typingSeconds * 1_000,
  unreadPauseMs: 250,
  /** Over so long a time a stopping node closes its sockets. */
  shutdownMs: 4_000,
}
export type Timings = typeof timings
