import { type UserRef, userKey } from '../core/user-ref.ts'
import { type Db, isStatementTimeout } from '../db/client.ts'
import { inChunks } from './chunks.ts'
import { LeftOut } from './left-out.ts'
import type { ToldCount } from './received-counts.ts'
import type { UnreadCache } from './unread-cache.ts'
import { type CheckedCount, type CountedUsers, selectCountsOfUsers } from './unread-counts.ts'
import type { UnreadSender } from './unread-sender.ts'
import type { UnreadWork } from './unread-work.ts'
import type { UserCounts } from './user-counts.ts'

/** How many users one statement loads counts for. */
const USERS_PER_STATEMENT = 200
/** How many users are loaded at a time before they are concerned by anything. */
const MOST_AHEAD = 2_000
/** How many statements may take too long before the database does. */
const MOST_TIMEOUTS = 10

type LoaderOptions = {
  db: Db
  cache: UnreadCache
  sender: UnreadSender
  /** The user's counts are to be loaded again: they are not, or not surely, all those there are. */
  onUnsure: (user: UserRef) => void
  report: (error: unknown, problem: string) => void
}
/** Called with the rows of some of the users, and when the statement began. */
type OnRead = (users: UserRef[], rows: CheckedCount[], startedAt: number) => void

/** Loads all counts of users of this node. */
export class UnreadLoader {
  /** Users who are left out, since their own counts took too long. */
  readonly #slow = new LeftOut()

  constructor(readonly options: LoaderOptions) {}

  /** Loads initial counts for those of these users who are seen for the first time. */
  async loadInitial(users: UserRef[]) {
    const newUsers = new Map<string, UserRef>()
    for (const { appId, userId } of users) {
      const user = { appId, userId }
      if (!this.options.cache.isComplete(user)) newUsers.set(userKey(user), user)
    }
    await this.#read({ users: [...newUsers.values()] }, (...read) => this.#complete(...read))
  }

  /** Loads initial counts for users who have none. Returns whether they were not too many. */
  async loadAll() {
    const unloaded = this.options.cache.unloaded()
    await this.loadInitial(unloaded.slice(0, MOST_AHEAD))
    return unloaded.length <= MOST_AHEAD
  }

  /** Sends users of this node the counts that they may not know, and owes them a total. */
  async tell(counts: ToldCount[], owed: Map<string, UserRef>) {
    await this.loadInitial(counts)
    for (const { author, isDeletion, offset: _, ...count } of counts) {
      const known = this.options.sender.sendCount(count, author, isDeletion)
      if (known) owed.set(userKey(known.user), known.user)
    }
  }

  /** The same for counts that were read elsewhere, or a while ago. */
  async tellReceived({ received, usersWhoLeft, owedTotals }: UnreadWork) {
    const counts = received.all()
    await this.loadInitial(counts)
    for (const { appId, userId, channelId } of counts) {
      const user = { appId, userId }
      const known = this.options.cache.get(user)
      // It was read before the user left, or after they joined: their counts tell which.
      if (known && !known.get(channelId)) usersWhoLeft.set(userKey(user), user)
    }
    await this.tell(counts, owedTotals)
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
    }
    owed.clear()
  }

  /** Loads the counts of users who have left a channel. Those that are loaded leave `left`. */
  async reloadLeavers(left: Map<string, UserRef>) {
    await this.#reload({ users: [...left.values()] }, (known) => {
      this.options.sender.sendTotal(known)
      left.delete(userKey(known.user))
    })
    left.clear()
  }

  /** Compares the counts of these users with what they were sent. */
  async sendMissed(users: UserRef[], readWithinSeconds: number) {
    const onLoaded = (known: UserCounts) => this.options.sender.correctTotal(known)
    await this.#reload({ users, readWithinSeconds }, onLoaded)
  }

  /**
   * Loads all counts of users who may have left a channel, sends those that differ or were changed
   * by a recent read, and forgets those of channels they left. A user may be a member of the others
   * again, with another count.
   */
  #reload(counted: CountedUsers, onLoaded: (known: UserCounts) => void) {
    const { cache, sender } = this.options
    return this.#read(counted, (users, rows, startedAt) => {
      const newUsers = users.filter((user) => !cache.isComplete(user))
      this.#complete(newUsers, rows, startedAt)
      for (const { isRecent, ...row } of rows)
        sender.sendCount(row, isRecent ? null : row.userId, isRecent)
      this.#complete(users, rows, startedAt)
      for (const known of users.flatMap((user) => cache.get(user) ?? [])) onLoaded(known)
    })
  }

  /**
   * Reads the counts of these users. If a statement takes too long, it is tried in halves after the
   * others; a user whose own counts take too long is left out for a while, and told all then.
   */
  async #read({ users, ...options }: CountedUsers, onRead: OnRead) {
    const { db, report } = this.options
    const due = users.filter((user) => !this.#slow.has(userKey(user)))
    const pending = [...inChunks(due, USERS_PER_STATEMENT)]
    let timeouts = 0
    for (let some = pending.shift(); some; some = pending.shift()) {
      const counted = { ...options, users: some }
      const startedAt = performance.now()
      try {
        onRead(some, await db.use((db) => selectCountsOfUsers(db, counted)), startedAt)
        for (const user of some) this.#slow.worked(userKey(user))
      } catch (error) {
        if (!isStatementTimeout(error) || ++timeouts > MOST_TIMEOUTS) throw error
        if (some.length > 1) pending.push(...inChunks(some, Math.ceil(some.length / 2)))
        else {
          for (const user of some) this.#leaveOut(user, error)
          report(error, 'unread counts of a user took too long')
        }
      }
    }
  }

  #leaveOut(user: UserRef, error: unknown) {
    this.#slow.add(userKey(user), { error, onEnd: () => this.options.onUnsure(user) })
  }

  #complete(...[users, rows, startedAt]: Parameters<UnreadCache['complete']>) {
    for (const user of this.options.cache.complete(users, rows, startedAt))
      this.options.onUnsure(user)
  }
}
