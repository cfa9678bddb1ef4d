import { type UserRef, userKey } from '../../core/user-ref.ts'
import { type Db, isStatementTimeout } from '../../db/client.ts'
import { withTimeLimit } from '../../db/time-limit.ts'
import type { Interest } from '../broker/index.ts'
import { inChunks } from '../chunks.ts'
import type { UnreadCache } from './cache.ts'
import { type CheckedCount, selectCountsOfUsers } from './counts.ts'
import type { CausedCount } from './received-counts.ts'
import type { UnreadSender } from './sender.ts'
import { SlowUsers, type UsersToLoad } from './slow-users.ts'
import type { UserCounts } from './user-counts.ts'
import type { UnreadWork } from './work.ts'

/** How many users one statement loads counts for. */
const USERS_PER_STATEMENT = 200
/** How many users are loaded ahead at a time, before anything happens in their channels. */
const MOST_AHEAD = 2_000
/** How many statements in a row may take too long before the remaining users are loaded apart. */
const MOST_TIMEOUTS = 2

type LoaderOptions = {
  db: Db
  interest: Pick<Interest, 'settled'>
  pauseMs: number
  cache: UnreadCache
  sender: UnreadSender
  /** Called when a user's counts may be incomplete, and have to be loaded again. */
  onUnsure: (user: UserRef) => void
  report: (error: unknown, problem: string) => void
}
/** Called with the rows of some of the users, and when the statement began. */
type OnRead = (users: UserRef[], rows: CheckedCount[], startedAt: number) => void
type LoadOptions = { onRead: OnRead; withinMs?: number | undefined }

/** Loads all counts of users of this node. */
export class UnreadLoader {
  readonly #slow: SlowUsers

  constructor(readonly options: LoaderOptions) {
    const load = (users: UsersToLoad, withinMs?: number) =>
      this.#readTogether(users, {
        onRead: this.#onReloaded((known, hasSent) => this.#sendTotalOfSlow(known, hasSent)),
        withinMs,
      })
    this.#slow = new SlowUsers({ ...options, sessions: options.cache.sessions, load })
  }

  stop() {
    return this.#slow.stop()
  }

  /** Loads initial counts for those of these users who are seen for the first time. */
  async loadInitial(users: UserRef[]) {
    const newUsers = new Map<string, UserRef>()
    for (const { appId, userId } of users) {
      const user = { appId, userId }
      if (this.options.cache.isComplete(user) || this.#slow.has(user)) continue
      newUsers.set(userKey(user), user)
    }
    await this.#read({ users: [...newUsers.values()] }, (...read) => this.#complete(...read))
  }

  /** Loads initial counts for users who have none. Returns whether all are loaded now. */
  async loadAll() {
    const { cache } = this.options
    await this.loadInitial(cache.unloaded().slice(0, MOST_AHEAD))
    return cache.unloaded().length === 0
  }

  /**
   * Sends users of this node the counts that they may not know, and owes them a total. A count does
   * not wait for a user whose others take too long.
   */
  async send(counts: CausedCount[], owed: Map<string, UserRef>) {
    const { cache, sender } = this.options
    await this.loadInitial(counts)
    for (const { author, isDeletion, offset: _, ...count } of counts) {
      const { appId, userId } = count
      const user = { appId, userId }
      if (this.#slow.has(user) && cache.sessions.has(user)) cache.getOrCreate(user)
      const known = sender.sendCount(count, author, isDeletion)
      if (known) owed.set(userKey(known.user), known.user)
    }
  }

  /** Sends counts that were read elsewhere, or a while ago. */
  async sendReceived({ received, usersWhoLeft, owedTotals }: UnreadWork) {
    const counts = received.all()
    await this.loadInitial(counts)
    for (const { appId, userId, channelId } of counts) {
      const user = { appId, userId }
      const known = this.options.cache.get(user)
      // The count was read before they left, or after they joined. Loading all their counts shows
      // which.
      if (known && !known.get(channelId)) usersWhoLeft.set(userKey(user), user)
    }
    await this.send(counts, owedTotals)
    received.clear()
  }

  /**
   * Sends users their total, whether or not they know it. Those whose counts took too long are sent
   * it once these are loaded: a total of some counts is wrong.
   */
  async sendOwed(owed: Map<string, UserRef>) {
    const { cache, sender } = this.options
    const present = [...owed.values()].filter((user) => cache.sessions.has(user))
    await this.loadInitial(present)
    for (const user of present) {
      const known = cache.get(user)
      if (known?.isComplete) sender.sendTotal(known)
      else this.#slow.oweTotal(user)
    }
    owed.clear()
  }

  /** Loads the counts of users who have left a channel. Those that are loaded leave `left`. */
  async reloadLeavers(left: Map<string, UserRef>) {
    await this.#reload({ users: [...left.values()] }, (known) => {
      this.options.sender.sendTotal(known)
      left.delete(userKey(known.user))
    })
    for (const user of left.values()) this.#slow.oweTotal(user)
    left.clear()
  }

  /** Compares the counts of these users with what they were sent. */
  async sendMissed(users: UserRef[], readSince: number) {
    const { sender } = this.options
    // Counts that cancel out leave the total as it was, but an answer between them had another.
    const onLoaded = (known: UserCounts, hasSent: boolean) =>
      hasSent ? sender.sendTotal(known) : sender.correctTotal(known)
    await this.#reload({ users, readSince }, onLoaded)
  }

  #sendTotalOfSlow(known: UserCounts, hasSent: boolean) {
    const { sender } = this.options
    if (this.#slow.takeOwed(known.user) || hasSent) sender.sendTotal(known)
    else sender.correctTotal(known)
  }

  /**
   * Loads all counts of users who may have left a channel, sends those that differ or were changed
   * by a recent read, and forgets those of channels they left. A user may be a member of the others
   * again, with another count.
   */
  #reload(users: UsersToLoad, onLoaded: (known: UserCounts, hasSent: boolean) => void) {
    return this.#read(users, this.#onReloaded(onLoaded))
  }

  #onReloaded(onLoaded: (known: UserCounts, hasSent: boolean) => void): OnRead {
    const { cache, sender } = this.options
    return (users, rows, startedAt) => {
      const newUsers = users.filter((user) => !cache.isComplete(user))
      this.#complete(newUsers, rows, startedAt)
      const sent = new Set<UserCounts | undefined>()
      for (const { isRecent, ...row } of rows)
        sent.add(sender.sendCount(row, isRecent ? null : row.userId, isRecent))
      this.#complete(users, rows, startedAt)
      for (const known of users.flatMap((user) => cache.get(user) ?? []))
        onLoaded(known, sent.has(known))
    }
  }

  /**
   * Reads the counts of these users. Those whose statement takes too long are loaded apart, where
   * they are sent what they may not know.
   */
  async #read({ users, readSince }: UsersToLoad, onRead: OnRead) {
    this.#slow.mark({ users, readSince })
    const due = users.filter((user) => !this.#slow.has(user))
    let timeouts = 0
    for (const some of inChunks(due, USERS_PER_STATEMENT)) {
      const isInTime =
        timeouts < MOST_TIMEOUTS && (await this.#readInTime({ users: some, readSince }, onRead))
      if (!isInTime) this.#slow.add({ users: some, readSince })
      timeouts = isInTime ? 0 : timeouts + 1
    }
  }

  async #readInTime(users: UsersToLoad, onRead: OnRead) {
    try {
      await this.#readTogether(users, { onRead })
      return true
    } catch (error) {
      if (!isStatementTimeout(error)) throw error
      return false
    }
  }

  async #readTogether({ users, readSince }: UsersToLoad, { onRead, withinMs }: LoadOptions) {
    // What changes after the statement is announced to this node.
    await this.options.interest.settled()
    const startedAt = performance.now()
    const readWithinSeconds = readSince === undefined ? 0 : (startedAt - readSince) / 1_000
    const rows = await this.options.db.use((db) =>
      withTimeLimit(db, withinMs, () => selectCountsOfUsers(db, { users, readWithinSeconds })),
    )
    onRead(users, rows, startedAt)
  }

  #complete(...[users, rows, startedAt]: Parameters<UnreadCache['complete']>) {
    for (const user of this.options.cache.complete(users, rows, startedAt))
      this.options.onUnsure(user)
  }
}
