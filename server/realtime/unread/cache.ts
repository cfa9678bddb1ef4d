import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { VersionedCount } from '../../features/reads.ts'
import type { Sessions } from '../sessions.ts'
import type { UnreadCount } from './counts.ts'
import { UserCounts } from './user-counts.ts'

/** The unread counts of the users connected to this node. */
export class UnreadCache {
  readonly #users = new Map<string, UserCounts>()
  readonly #holders = new Map<string, Set<UserCounts>>()

  constructor(readonly sessions: Sessions) {}

  get(user: UserRef): UserCounts | undefined {
    return this.#users.get(userKey(user))
  }

  getOrCreate(user: UserRef): UserCounts {
    const known = this.get(user)
    if (known) return known
    const created = new UserCounts(user, this.#holders)
    this.#users.set(userKey(user), created)
    return created
  }

  isComplete(user: UserRef) {
    return this.get(user)?.isComplete === true
  }

  /** The users with a known count in the channel. */
  usersOf(channelId: string): UserRef[] {
    return [...(this.#holders.get(channelId) ?? [])].map(({ user }) => user)
  }

  /** The users on this node whose counts are not loaded. */
  unloaded() {
    return this.sessions.users().filter((user) => !this.isComplete(user))
  }

  /** Whether a user has a known count in the channel. */
  has(channelId: string) {
    return this.#holders.has(channelId)
  }

  /**
   * Takes all counts of these users, as a statement that began at `startedAt` has read them.
   * Returns the users whose counts have to be loaded again.
   */
  complete(users: UserRef[], rows: UnreadCount[], startedAt = performance.now()): UserRef[] {
    const loaded = new Map(users.map((user) => [userKey(user), new Map<string, VersionedCount>()]))
    for (const { channelId, count, version, snapshot, ...user } of rows)
      loaded.get(userKey(user))?.set(channelId, { count, version, snapshot })
    const load = { startedAt, snapshot: rows[0]?.snapshot ?? Number.NaN }
    return users.filter((user) => {
      if (!this.sessions.has(user)) return false
      const known = this.getOrCreate(user)
      known.isComplete = true
      return !known.complete(loaded.get(userKey(user)) ?? new Map(), load)
    })
  }

  /** From now on a client of the user may show other counts than those that were sent. */
  markAsUncertain(user: UserRef) {
    this.get(user)?.markAsUncertain()
  }

  /** Forgets versions, because a restored database has lower ones. */
  forgetVersions() {
    for (const user of this.sessions.users()) this.getOrCreate(user).forgetVersions()
  }

  forget(user: UserRef) {
    this.get(user)?.forget()
    this.#users.delete(userKey(user))
  }
}
