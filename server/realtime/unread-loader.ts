import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import { inChunks } from './chunks.ts'
import type { UnreadCache } from './unread-cache.ts'
import { selectCountsOfUsers } from './unread-counts.ts'
import type { UnreadSender } from './unread-sender.ts'
import type { UserCounts } from './user-counts.ts'

/** How many users one statement loads counts for. */
const USERS_PER_STATEMENT = 200

type LoaderOptions = {
  db: Db
  cache: UnreadCache
  sender: UnreadSender
  /** The user may have joined a channel while their counts were loaded. */
  onUnsure: (user: UserRef) => void
}

/** Loads all counts of users of this node. */
export class UnreadLoader {
  constructor(readonly options: LoaderOptions) {}

  /** Loads initial counts for those of these users who are seen for the first time. */
  async loadInitial(users: UserRef[]) {
    const { db } = this.options
    const newUsers = new Map<string, UserRef>()
    for (const { appId, userId } of users) {
      const user = { appId, userId }
      if (!this.options.cache.isComplete(user)) newUsers.set(userKey(user), user)
    }
    for (const some of inChunks([...newUsers.values()], USERS_PER_STATEMENT)) {
      const startedAt = performance.now()
      const rows = await db.use((db) => selectCountsOfUsers(db, { users: some }))
      this.#complete(some, rows, startedAt)
    }
  }

  /** Sends users their total, whether or not they know it. Those who were sent it leave `owed`. */
  async sendOwed(owed: Map<string, UserRef>) {
    const { cache, sender } = this.options
    const present = [...owed.values()].filter((user) => cache.sessions.has(user))
    await this.loadInitial(present)
    for (const user of present) {
      const known = cache.get(user)
      if (known) sender.sendTotal(known)
    }
    owed.clear()
  }

  /** Loads the counts of users who have left a channel. Those that are loaded leave `left`. */
  async reloadLeavers(left: Map<string, UserRef>) {
    for (const users of inChunks([...left.values()], USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(users)) this.options.sender.sendTotal(known)
      for (const user of users) left.delete(userKey(user))
    }
  }

  /** Compares the counts of these users with what they were sent. */
  async sendMissed(users: UserRef[], readWithinSeconds: number) {
    for (const some of inChunks(users, USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(some, readWithinSeconds))
        this.options.sender.correctTotal(known)
    }
  }

  /**
   * Loads all counts of users who may have left a channel, sends those that differ or were changed
   * by a recent read, and forgets those of channels they left. A user may be a member of the others
   * again, with another count.
   */
  async #reload(users: UserRef[], readWithinSeconds = 0): Promise<UserCounts[]> {
    const { db, cache, sender } = this.options
    const startedAt = performance.now()
    const rows = await db.use((db) => selectCountsOfUsers(db, { users, readWithinSeconds }))
    const newUsers = users.filter((user) => !cache.isComplete(user))
    this.#complete(newUsers, rows, startedAt)
    for (const { isRecent, ...row } of rows)
      sender.sendCount(row, isRecent ? null : row.userId, isRecent)
    this.#complete(users, rows, startedAt)
    return users.flatMap((user) => cache.get(user) ?? [])
  }

  #complete(...[users, rows, startedAt]: Parameters<UnreadCache['complete']>) {
    for (const user of this.options.cache.complete(users, rows, startedAt))
      this.options.onUnsure(user)
  }
}
