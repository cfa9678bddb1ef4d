import { type UserRef, userKey } from '../core/user-ref.ts'

/** Counts the sockets of each user on this node; a limit of 0 is none. */
export class UserSockets {
  readonly #counts = new Map<string, number>()

  constructor(readonly limit: number) {}

  /** Counts one more socket. Returns false if the user has as many as allowed. */
  take(user: UserRef) {
    const count = this.#counts.get(userKey(user)) ?? 0
    if (this.limit > 0 && count >= this.limit) return false
    this.#counts.set(userKey(user), count + 1)
    return true
  }

  release(user: UserRef) {
    const count = (this.#counts.get(userKey(user)) ?? 0) - 1
    if (count > 0) this.#counts.set(userKey(user), count)
    else this.#counts.delete(userKey(user))
  }
}
