import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import { inChunks } from './chunks.ts'
import type { UnreadCache, UserCounts } from './unread-cache.ts'
import { selectCountsOfUsers } from './unread-counts.ts'
import type { UnreadSender } from './unread-sender.ts'

/** How many users one statement loads counts for. */
const USERS_PER_STATEMENT = 200

/** Loads all counts of users of this node. */
export class UnreadLoader {
  constructor(
    readonly db: Db,
    readonly cache: UnreadCache,
    readonly sender: UnreadSender,
    /** A count arrived while the user's were loaded, maybe of a channel that they have left. */
    readonly onUncertain: (user: UserRef) => void,
  ) {}

  /** Loads initial counts for those of these users who are seen for the first time. */
  async loadInitial(users: UserRef[]) {
    const newUsers = new Map<string, UserRef>()
    for (const { appId, userId } of users) {
      const user = { appId, userId }
      if (!this.cache.isComplete(user)) newUsers.set(userKey(user), user)
    }
    for (const some of inChunks([...newUsers.values()], USERS_PER_STATEMENT)) {
      this.cache.complete(some, await this.db.use((db) => selectCountsOfUsers(db, { users: some })))
    }
  }

  /** Loads the counts of users who have left a channel. */
  async reloadLeavers(left: Map<string, UserRef>) {
    for (const users of inChunks([...left.values()], USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(users)) this.sender.sendTotal(known)
      // If a later statement fails, these are not loaded again.
      for (const user of users) left.delete(userKey(user))
    }
  }

  /** Compares the counts of these users with what they were sent. */
  async sendMissed(users: UserRef[], readWithinSeconds: number) {
    for (const some of inChunks(users, USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(some, readWithinSeconds))
        this.sender.correctTotal(known)
    }
  }

  /**
   * Loads all counts of users who may have left a channel, sends those that differ or were changed
   * by a recent read, and forgets those of channels they left. A user may be a member of the others
   * again, with another count.
   */
  async #reload(users: UserRef[], readWithinSeconds = 0): Promise<UserCounts[]> {
    const before = new Map(
      users.map((user) => [userKey(user), new Map(this.cache.get(user)?.counts)]),
    )
    const rows = await this.db.use((db) => selectCountsOfUsers(db, { users, readWithinSeconds }))
    const current = new Set(rows.map((row) => `${userKey(row)} ${row.channelId}`))
    const newUsers = users.filter((user) => !this.cache.isComplete(user))
    this.cache.complete(newUsers, rows)
    for (const { isRecent, ...row } of rows)
      this.sender.sendCount(row, isRecent ? null : row.userId)
    return users.flatMap((user) => {
      const known = this.cache.get(user)
      if (!known) return []
      for (const [channelId, count] of known.counts) {
        if (current.has(`${userKey(user)} ${channelId}`)) continue
        // What came since may be of a channel that the user has joined.
        if (before.get(userKey(user))?.get(channelId) === count) known.counts.delete(channelId)
        else this.onUncertain(user)
      }
      return [known]
    })
  }
}
