import { type UserRef, userKey } from '../core/user-ref.ts'
import { CountedOffsets } from './counted-offsets.ts'
import type { ChannelOffset } from './queries.ts'
import { UnreadCache } from './unread-cache.ts'
import { UnreadCounter } from './unread-counter.ts'
import type { UnreadCount } from './unread-counts.ts'
import { UnreadLoader } from './unread-loader.ts'
import { UnreadSender } from './unread-sender.ts'
import { UnreadWork } from './unread-work.ts'
import type { UserFanoutOptions } from './user-fanout.ts'

type UnreadOptions = UserFanoutOptions & { pauseMs: number }

type SentCount = Omit<UnreadCount, keyof UserRef>
type AddedChannel = { id: string; unreadCount: number; unreadVersion: number }

/** How long to wait after the database failed; twice as long each time that it fails again. */
const RETRY_MS = 1_000
const LONGEST_RETRY_MS = 8_000

/**
 * Sends the connected users of this node their unread counts, as absolute numbers. All channels in
 * which something happened are counted together; the next count follows after a pause, so that a
 * flood of messages does not become a flood of statements.
 */
export class UnreadNotifier {
  #work = new UnreadWork()
  readonly #counted = new CountedOffsets()
  readonly #cache: UnreadCache
  readonly #sender: UnreadSender
  readonly #loader: UnreadLoader
  readonly #counter: UnreadCounter
  #timer: NodeJS.Timeout | undefined
  #isRunning = false
  #isStopped = false
  #endedAt = Number.NEGATIVE_INFINITY
  /** How many runs have failed one after the other. */
  #failures = 0

  constructor(readonly options: UnreadOptions) {
    const cache = new UnreadCache(options.sessions)
    const sender = new UnreadSender(cache, options.broadcast)
    const onUnsure = (user: UserRef) => this.memberLeft(user)
    this.#cache = cache
    this.#sender = sender
    this.#loader = new UnreadLoader({ db: options.db, cache, sender, onUnsure })
    this.#counter = new UnreadCounter(options)
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
    this.#work.markDirty(channelId, author)
    this.#schedule()
  }

  /** Counts the channels whose recent changes this node has missed. */
  handleChanges(recent: ChannelOffset[]) {
    for (const each of this.#counted.compare(recent)) this.markDirty(each.channelId, each)
  }

  /**
   * Presence rows were lost, so earlier counts may have reached no one: recounts recent events. The
   * database may be one that was restored.
   */
  invalidateAll() {
    this.#counted.clear()
    this.#cache.forgetVersions()
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
   * An operation has sent the user a count. Their total follows with the next counts, so that many
   * reads at once are not as many totals.
   */
  recordCount(user: UserRef, { channelId, count, version }: SentCount) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    if (!known.isComplete || known.get(channelId))
      this.#sender.recordSent(known, channelId, { count, version })
    // The user has left the channel, or joined it: their counts tell which.
    else this.#work.usersWhoLeft.set(userKey(user), user)
    this.#work.owedTotals.set(userKey(user), user)
    this.#schedule()
  }

  /** A node has sent the user a total. It is compared with ours once that is up to date. */
  recordTotal(user: UserRef, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#cache.getOrCreate(user).sentTotal = count
    this.#work.staleTotals.set(userKey(user), user)
    this.#schedule()
  }

  /** The user was sent a channel that is new to them, maybe after a newer count of it. */
  channelAdded(user: UserRef, { id, unreadCount: count, unreadVersion: version }: AddedChannel) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    const { total } = known
    this.#sender.recordSent(known, id, { count, version })
    if (known.total === total) return
    this.#work.staleTotals.set(userKey(user), user)
    this.#schedule()
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
      const failure = await this.#countChannels(work)
      await this.#sendOwed(work.owedTotals)
      // Last, so that no count read before a user left a channel stays with them.
      await this.#loader.reloadLeavers(work.usersWhoLeft)
      await this.#sendMissed(work)
      for (const user of work.staleTotals.values()) this.#sender.correctTotal(this.#cache.get(user))
      work.staleTotals.clear()
      if (failure !== undefined) throw failure
      this.#endedAt = performance.now()
      this.#failures = 0
    } catch (error) {
      this.#work.add(work)
      if (!this.#isStopped) this.options.report(error, 'unread count failed')
      const pauseMs = Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS)
      this.#failures += 1
      this.#endedAt = performance.now() + pauseMs
    }
    this.#isRunning = false
    if (this.#work.isDue) this.#schedule()
  }

  /**
   * Counts the channels in which something happened, and sends what users may not know. Returns why
   * some of them took too long, if any did.
   */
  #countChannels(work: UnreadWork) {
    const { dirty, deletedIn, owedTotals } = work
    return this.#counter.count([...dirty.keys()], async (channelIds, counts) => {
      await this.#loader.loadInitial(counts)
      for (const count of counts) {
        const author = dirty.get(count.channelId) ?? null
        const known = this.#sender.sendCount(count, author, deletedIn.has(count.channelId))
        if (known) owedTotals.set(userKey(known.user), known.user)
      }
      work.done(channelIds)
    })
  }

  async #sendMissed(work: UnreadWork) {
    if (work.missedSeconds === 0) return
    await this.#loader.sendMissed(this.options.sessions.users(), work.missedSeconds)
    work.missedSeconds = 0
  }

  /** Sends users their total, whether or not they know it. Those who were sent it leave `owed`. */
  async #sendOwed(owed: Map<string, UserRef>) {
    const present = [...owed.values()].filter((user) => this.options.sessions.has(user))
    await this.#loader.loadInitial(present)
    for (const user of present) {
      const known = this.#cache.get(user)
      if (known) this.#sender.sendTotal(known)
    }
    owed.clear()
  }
}
