import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { inChunks } from './chunks.ts'
import { CountedOffsets } from './counted-offsets.ts'
import type { ChannelOffset } from './queries.ts'
import { UnreadCache, type UserCounts } from './unread-cache.ts'
import { selectCountsOfChannels, selectCountsOfUsers } from './unread-counts.ts'
import { UnreadSender } from './unread-sender.ts'
import { UnreadWork } from './unread-work.ts'
import type { UserFanoutOptions } from './user-fanout.ts'

type UnreadOptions = UserFanoutOptions & { pauseMs: number }

/** How many users one statement loads counts for. */
const USERS_PER_STATEMENT = 200
/** How long to wait after the database failed. */
const RETRY_MS = 1_000

/**
 * Sends the connected users of this node their unread counts, as absolute numbers. One statement
 * counts all channels in which something happened; the next one runs after it and a pause, so that
 * a flood of messages does not become a flood of statements.
 */
export class UnreadNotifier {
  #work = new UnreadWork()
  readonly #counted = new CountedOffsets()
  readonly #cache: UnreadCache
  readonly #sender: UnreadSender
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #isStopped = false
  #endedAt = Number.NEGATIVE_INFINITY

  constructor(readonly options: UnreadOptions) {
    this.#cache = new UnreadCache(options.sessions)
    this.#sender = new UnreadSender(this.#cache, options.broadcast)
  }

  /** An event of a channel may change the counts of its members. */
  markDirty(
    channelId: string,
    {
      offset,
      author = null,
      isDeletion = false,
    }: { offset: number; author?: string | null | undefined; isDeletion?: boolean },
  ) {
    this.#counted.add(channelId, offset)
    if (this.options.sessions.isEmpty) return
    if (isDeletion) this.#work.deletedIn.add(channelId)
    this.#recount(channelId, author)
  }

  /** Counts the channels whose recent changes this node has missed. */
  handleChanges(recent: ChannelOffset[]) {
    for (const each of this.#counted.compare(recent)) this.markDirty(each.channelId, each)
  }

  /** Presence rows were lost, so earlier counts may have reached no one: recounts recent events. */
  invalidateAll() {
    this.#counted.clear()
  }

  /** Notes of reads elsewhere, or counts to users, may have been missed in the last `seconds`. */
  recheck(seconds: number) {
    this.#work.missed(seconds)
    this.#schedule()
  }

  /** A client of the user loads its counts now: it has not received earlier counts. */
  clientLoads(user: UserRef) {
    this.#cache.markAsUncertain(user)
  }

  /**
   * An operation has sent the user a count. We may have sent another count at the same time: count
   * again. Their total is sent too, at once or as soon as all counts are loaded.
   */
  recordCount(user: UserRef, channelId: string, count: number) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    // The user may have left the channel since.
    const isMember = !known.isComplete || known.counts.has(channelId)
    if (isMember) known.counts.set(channelId, { count, isSent: true })
    if (known.isComplete) this.#sender.sendTotal(known)
    else this.#work.owedTotals.set(userKey(user), user)
    this.#recount(channelId, null)
  }

  /** A node has sent the user a total. It is compared with ours once that is up to date. */
  recordTotal(user: UserRef, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#cache.getOrCreate(user).total = count
    this.#work.staleTotals.set(userKey(user), user)
    this.#schedule()
  }

  /** The user was sent a channel that is new to them. Its count may have changed since. */
  channelAdded(user: UserRef, { id, unreadCount }: { id: string; unreadCount: number }) {
    if (!this.options.sessions.has(user)) return
    this.#cache.getOrCreate(user).counts.set(id, { count: unreadCount, isSent: true })
    this.#recount(id, null)
  }

  /** The user has left a channel, or it was deleted: their total changes. */
  memberLeft(user: UserRef) {
    if (!this.options.sessions.has(user)) return
    this.#work.usersWhoLeft.set(userKey(user), user)
    this.#schedule()
  }

  /** Affects all users with a known count in the channel. */
  channelDeleted(channelId: string) {
    for (const user of this.#cache.usersOf(channelId)) this.memberLeft(user)
  }

  forget(user: UserRef) {
    this.#cache.forget(user)
  }

  stop() {
    clearTimeout(this.#timer)
    this.#isStopped = true
  }

  #recount(channelId: string, author: string | null) {
    this.#work.markDirty(channelId, author)
    this.#schedule()
  }

  #schedule() {
    if (this.#timer !== undefined || this.#isRunning || this.#isStopped) return
    const waitMs = this.#endedAt + this.options.pauseMs - performance.now()
    this.#timer = setTimeout(() => void this.#run(), Math.max(0, waitMs))
  }

  async #run() {
    this.#timer = undefined
    this.#isRunning = true
    const work = this.#work
    this.#work = new UnreadWork()
    try {
      if (work.dirty.size > 0) await this.#countChannels(work)
      await this.#sendOwed([...work.owedTotals.values()])
      // Last, so that no count read before a user left a channel stays with them.
      await this.#reloadLeavers(work.usersWhoLeft)
      if (work.missedSeconds > 0) await this.#sendMissed(work.missedSeconds)
      for (const user of work.staleTotals.values()) this.#sender.correctTotal(this.#cache.get(user))
      this.#endedAt = performance.now()
    } catch (error) {
      this.#work.add(work)
      if (!this.#isStopped) this.options.report(error, 'unread count failed')
      this.#endedAt = performance.now() + RETRY_MS
    }
    this.#isRunning = false
    if (this.#work.isDue) this.#schedule()
  }

  async #countChannels({ dirty, deletedIn }: UnreadWork) {
    const { db, nodeId, sessions } = this.options
    const onNode = { nodeId, connected: sessions.size, channelIds: [...dirty.keys()] }
    const rows = await db.use((db) => selectCountsOfChannels(db, onNode))
    await this.#loadInitial(rows)
    const changed = new Set<UserCounts>()
    for (const row of rows) {
      const author = dirty.get(row.channelId) ?? null
      const known = this.#sender.sendCount(row, author, deletedIn.has(row.channelId))
      if (known) changed.add(known)
    }
    for (const known of changed) this.#sender.sendTotal(known)
  }

  /** Sends users their total, whether or not they know it. */
  async #sendOwed(users: UserRef[]) {
    const present = users.filter((user) => this.options.sessions.has(user))
    await this.#loadInitial(present)
    for (const user of present) {
      const known = this.#cache.get(user)
      if (known) this.#sender.sendTotal(known)
    }
  }

  /** Loads the counts of users who have left a channel. */
  async #reloadLeavers(left: Map<string, UserRef>) {
    for (const users of inChunks([...left.values()], USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(users)) this.#sender.sendTotal(known)
      // If a later statement fails, these are not loaded again.
      for (const user of users) left.delete(userKey(user))
    }
  }

  /** Compares the counts of all users with what they were sent. */
  async #sendMissed(readWithinSeconds: number) {
    for (const users of inChunks(this.options.sessions.users(), USERS_PER_STATEMENT)) {
      for (const known of await this.#reload(users, readWithinSeconds))
        this.#sender.correctTotal(known)
    }
  }

  /**
   * Loads all counts of users who may have left a channel, sends those that differ or were changed
   * by a recent read, and forgets those of channels they left. A user may be a member of the others
   * again, with another count.
   */
  async #reload(users: UserRef[], readWithinSeconds = 0): Promise<UserCounts[]> {
    const rows = await this.options.db.use((db) =>
      selectCountsOfUsers(db, { users, readWithinSeconds }),
    )
    const current = new Set(rows.map((row) => `${userKey(row)} ${row.channelId}`))
    const newUsers = users.filter((user) => !this.#cache.isComplete(user))
    this.#cache.complete(newUsers, rows)
    for (const { isRecent, ...row } of rows)
      this.#sender.sendCount(row, isRecent ? null : row.userId)
    return users.flatMap((user) => {
      const known = this.#cache.get(user)
      if (!known) return []
      for (const channelId of known.counts.keys()) {
        if (!current.has(`${userKey(user)} ${channelId}`)) known.counts.delete(channelId)
      }
      return [known]
    })
  }

  /** Loads initial counts for those of these users who are seen for the first time. */
  async #loadInitial(users: UserRef[]) {
    const newUsers = new Map<string, UserRef>()
    for (const { appId, userId } of users) {
      const user = { appId, userId }
      if (!this.#cache.isComplete(user)) newUsers.set(userKey(user), user)
    }
    for (const some of inChunks([...newUsers.values()], USERS_PER_STATEMENT)) {
      const load = (db: Tx) => selectCountsOfUsers(db, { users: some })
      this.#cache.complete(some, await this.options.db.use(load))
    }
  }
}
