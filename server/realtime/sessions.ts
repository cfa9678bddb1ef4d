import { type Closing, closings } from './protocol/codes.ts'

/** A user's connection of either kind: a WebSocket of the protocol, or a tRPC subscription. */
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
    const known = this.#byUser.get(keyOf(session))
    if (known) known.add(session)
    else this.#byUser.set(keyOf(session), new Set([session]))
  }

  /** Returns whether it was the user's last. */
  remove(session: Session) {
    const sessions = this.#byUser.get(keyOf(session))
    if (!sessions?.delete(session) || sessions.size > 0) return false
    this.#byUser.delete(keyOf(session))
    return true
  }

  of(user: User): Session[] {
    return [...(this.#byUser.get(keyOf(user)) ?? [])]
  }

  has(user: User) {
    return this.#byUser.has(keyOf(user))
  }

  get isEmpty() {
    return this.#byUser.size === 0
  }

  users(): User[] {
    return [...this.#byUser.values()].flatMap(([first]) =>
      first ? [{ appId: first.appId, userId: first.userId }] : [],
    )
  }

  /** Closes all sessions, spread over a time: so that not all clients reconnect at once. */
  async drain(milliseconds: number) {
    const sessions = [...this.#byUser.values()].flatMap((sessions) => [...sessions])
    const pauseMs = milliseconds / Math.max(1, sessions.length)
    const startedAt = performance.now()
    for (const [index, session] of sessions.entries()) {
      const waitMs = startedAt + index * pauseMs - performance.now()
      if (waitMs > 5) await new Promise((resolve) => setTimeout(resolve, waitMs))
      session.close(closings.shutdown)
    }
  }
}

export type User = { appId: string; userId: string }
export const keyOf = ({ appId, userId }: User) => `${appId}:${userId}`
