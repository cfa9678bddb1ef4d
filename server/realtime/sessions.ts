import { type UserRef, userKey } from '../core/user-ref.ts'
import { type Closing, closings } from './protocol/codes.ts'
import type { Transport } from './sockets/transport.ts'

/** A connected socket of a user, of the protocol or of tRPC, or a tRPC subscription. */
export interface Session {
  readonly appId: string
  readonly userId: string
  /** The generation of its token. */
  readonly generation: number
  /** The topics it is subscribed to. */
  readonly topics: Iterable<string>
  close(closing: Closing): void
}

/** The sessions of this node, by user. */
export class Sessions {
  readonly #byUser = new Map<string, Set<Session>>()

  add(session: Session) {
    const known = this.#byUser.get(userKey(session))
    if (known) known.add(session)
    else this.#byUser.set(userKey(session), new Set([session]))
  }

  /** Returns whether it was the user's last. */
  remove(session: Session) {
    const sessions = this.#byUser.get(userKey(session))
    if (!sessions?.delete(session) || sessions.size > 0) return false
    this.#byUser.delete(userKey(session))
    return true
  }

  of(user: UserRef): Session[] {
    return [...(this.#byUser.get(userKey(user)) ?? [])]
  }

  ofApp(appId: string): Session[] {
    const sessions = [...this.#byUser.values()].flatMap((sessions) => [...sessions])
    return sessions.filter((session) => session.appId === appId)
  }

  has(user: UserRef) {
    return this.#byUser.has(userKey(user))
  }

  get isEmpty() {
    return this.#byUser.size === 0
  }

  /** How many users have sessions. */
  get size() {
    return this.#byUser.size
  }

  users(): UserRef[] {
    return [...this.#byUser.values()].flatMap(([first]) =>
      first ? [{ appId: first.appId, userId: first.userId }] : [],
    )
  }

  /**
   * Closes the sessions within this time. The first half is left to proxies: until they know, a
   * client that reconnects would come back here.
   */
  drainLate(milliseconds: number) {
    setTimeout(() => void this.drain(milliseconds / 2), milliseconds / 2).unref()
  }

  /**
   * Closes all sessions, spread over a time so that clients do not all reconnect at once, until
   * that is done or no longer needed. Sessions added meanwhile stay.
   */
  async drain(milliseconds: number, isNeeded = () => true) {
    const sessions = [...this.#byUser.values()].flatMap((sessions) => [...sessions])
    const pauseMs = milliseconds / Math.max(1, sessions.length)
    const startedAt = performance.now()
    for (const [index, session] of sessions.entries()) {
      const waitMs = startedAt + index * pauseMs - performance.now()
      if (waitMs > 5) await new Promise((resolve) => setTimeout(resolve, waitMs))
      if (!isNeeded()) return
      session.close(closings.shutdown)
    }
  }
}

type OutageClosing = {
  /** The sockets that are open now. */
  sockets: () => Transport[]
  isOutage: () => boolean
  milliseconds: number
}

/**
 * Closes the sockets of a node that has lost its database, so that clients go to others, until it
 * is back. Sockets that are still open then, or opened meanwhile, stay.
 */
export async function closeForOutage(
  sessions: Sessions,
  { sockets, isOutage, milliseconds }: OutageClosing,
) {
  const open = sockets()
  await sessions.drain(milliseconds, isOutage)
  if (isOutage()) closeSockets(open)
}

/** Closes sockets at once, whether or not they have a session. */
function closeSockets(sockets: Iterable<Transport>) {
  const { code, reason } = closings.shutdown
  for (const socket of sockets) socket.close(code, reason)
}
