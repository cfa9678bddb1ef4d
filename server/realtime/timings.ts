import { limits } from '@parley/contract'

/** The intervals and timeouts of real time, in milliseconds. Tests shorten them. */
export const timings = {
  /** How long a socket may stay open without a connect command. */
  connectMs: 10_000,
  pingMs: 25_000,
  pongMs: 8_000,
  /** How long after its token has expired a connection may still refresh. */
  expiryGraceMs: 25_000,
  /** How often a node compares with the database what may have been missed. */
  reconcileMs: 5_000,
  /** How often a node writes its heartbeat, and looks for nodes without one. */
  beatMs: 2_000,
  /**
   * How often a node looks whether it has work that does not wait for the next heartbeat. That
   * costs nothing if there is none. After two seconds of silence this and a statement free the
   * locks of a stuck session within 2.5 s.
   */
  lookMs: 400,
  /** How long a heartbeat may take: then the next one is tried, on another connection. */
  beatPatienceMs: 3_000,
  /** A node is found dead by the others when its last heartbeat is older than this. */
  deadAfterMs: 10_000,
  /**
   * How long the heartbeats of a node must have succeeded before it declares others dead: what kept
   * it from its database may have kept them from theirs, and they need time to be back.
   */
  steadyMs: 5_000,
  /**
   * How long after a gap a node compares presence: when the database has crashed, the other nodes
   * restore their rows in the meantime.
   */
  comparePresenceMs: 5_000,
  /** A node whose database was out of reach for this long closes its sockets. */
  outageMs: 15_000,
  /** How often a node sends itself a note, to learn that its listening connection is dead. */
  brokerBeatMs: 2_000,
  /** The connection is dead when none of these notes has arrived for this long. */
  brokerSilenceMs: 5_000,
  /** The notes of a node may be lost when nothing of it has arrived for this long. */
  silentNodeMs: 5_000,
  typingMs: limits.typingSeconds * 1_000,
  unreadPauseMs: 250,
  /**
   * How long the node of a change may take to count it for the users of all nodes, before the
   * others take its counts for missed.
   */
  othersCountMs: 1_000,
  /** How long the next reading of a user's co-members waits at least. */
  coMembersPauseMs: 1_000,
  /** How often a growing message is stored, how long its author may pause, how long it may grow. */
  streamStoreMs: limits.streams.storeSeconds * 1_000,
  streamQuietMs: limits.streams.quietSeconds * 1_000,
  streamLongestMs: limits.streams.longestSeconds * 1_000,
  deltaMs: limits.streams.deltaSeconds * 1_000,
  /**
   * The time over which a node that stops, or has an outage, spreads the closing of its sockets.
   */
  shutdownMs: 4_000,
}
export type Timings = typeof timings

/** Milliseconds until a token that expires at this time (in seconds) is refused. */
export const untilExpiry = (expiresAt: number, { expiryGraceMs }: Pick<Timings, 'expiryGraceMs'>) =>
  expiresAt * 1000 - Date.now() + expiryGraceMs
