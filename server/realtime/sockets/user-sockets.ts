import { type UserRef, userKey } from '../../core/user-ref.ts'

type Limits = { user: number; app?: number | undefined }

/** Counts the sockets of each user and of each app on this node; a limit of 0 is none. */
export class UserSockets {
  readonly #counts = new Map<string, number>()

  constructor(readonly limits: Limits) {}

  /** Counts one more socket. Returns false if the user or the app has as many as allowed. */
  take(user: UserRef) {
    const { user: ofUser, app: ofApp = 0 } = this.limits
    if (this.#isFull(userKey(user), ofUser) || this.#isFull(user.appId, ofApp)) return false
    for (const key of keysOf(user)) this.#counts.set(key, this.#countOf(key) + 1)
    return true
  }

  release(user: UserRef) {
    for (const key of keysOf(user)) {
      const count = this.#countOf(key) - 1
      if (count > 0) this.#counts.set(key, count)
      else this.#counts.delete(key)
    }
  }

  #isFull = (key: string, limit: number) => limit > 0 && this.#countOf(key) >= limit
  #countOf = (key: string) => this.#counts.get(key) ?? 0
}

const keysOf = (user: UserRef) => [userKey(user), user.appId]
