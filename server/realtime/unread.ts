import { type UserRef, userKey } from '../core/user-ref.ts'
import type { CountedNote, CountsNote } from './broker.ts'
import { createCountedNotes } from './counted-notes.ts'
import { CountedOffsets } from './counted-offsets.ts'
import type { ChannelOffset } from './queries.ts'
import { countsNotes, countsOf, type ReceivedCount } from './received-counts.ts'
import { UnreadCache, type UserCounts } from './unread-cache.ts'
import { selectCountsOfChannels, type UnreadCount } from './unread-counts.ts'
import { UnreadLoader } from './unread-loader.ts'
import { UnreadSender } from './unread-sender.ts'
import { UnreadWork } from './unread-work.ts'
import type { UserFanoutOptions } from './user-fanout.ts'

type UnreadOptions = UserFanoutOptions & {
  pauseMs: number
  /** How long the other nodes may wait to learn what was counted. */
  countedMs: number
  send: (note: CountsNote | CountedNote) => void
}

/** How long to wait after the database failed. */
const RETRY_MS = 1_000

/**
 * Sends connected users their unread counts, as absolute numbers. The node where something happened
 * counts its channels for all nodes, by one statement, and sends each node the counts of its users.
 * The next statement runs after it and a pause, so that a flood of messages does not become a flood
 * of statements.
 */
export class UnreadNotifier {
  #work = new UnreadWork()
  readonly #counted = new CountedOffsets()
  readonly #cache: UnreadCache
  readonly #sender: UnreadSender
  readonly #loader: UnreadLoader
  readonly #announced: ReturnType<typeof createCountedNotes>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false
  #endedAt = Number.NEGATIVE_INFINITY

  constructor(readonly options: UnreadOptions) {
    this.#cache = new UnreadCache(options.sessions)
    this.#sender = new UnreadSender(this.#cache, options.broadcast)
    const onUncertain = (user: UserRef) => this.memberLeft(user)
    this.#loader = new UnreadLoader(options.db, this.#cache, this.#sender, onUncertain)
    this.#announced = createCountedNotes({ pauseMs: options.countedMs, send: options.send })
  }

  /** An event of a channel, by this node, may change the counts of its members on any node. */
  markDirty(
    channelId: string,
    {
      offset,
      author = null,
      isDeletion = false,
    }: { offset: number; author?: string | null | undefined; isDeletion?: boolean },
  ) {
    this.#counted.add(channelId, offset)
    if (!this.options.isHeard()) return
    if (isDeletion) this.#work.deletedIn.add(channelId)
    this.#work.markDirty(channelId, { offset, author })
    this.#schedule()
  }

  /** Another node has counted these channels. */
  recordCounted({ channels }: CountedNote) {
    for (const [channelId, offset] of channels) this.#counted.add(channelId, offset)
  }

  /** Another node has counted channels of users of this one. */
  receive(note: CountsNote) {
    const changed = new Set<UserCounts>()
    for (const row of countsOf(note)) {
      const user = { appId: row.appId, userId: row.userId }
      if (!this.options.sessions.has(user)) continue
      const known = this.#cache.get(user)
      if (!known?.isComplete) this.#work.receive(row)
      // The user has joined, or the count is older than their leave.
      else if (!known.counts.has(row.channelId)) this.#work.usersWhoLeft.set(userKey(user), user)
      else if (this.#sender.sendCount(row, row.author, row.isDeletion)) changed.add(known)
    }
    for (const known of changed) this.#sender.sendTotal(known)
    if (this.#work.isDue) this.#schedule()
  }

  /** Counts the channels whose recent changes nobody may have counted for this node. */
  handleChanges(recent: ChannelOffset[]) {
    for (const { channelId, offset } of this.#counted.compare(recent)) {
      this.#counted.add(channelId, offset)
      if (this.options.sessions.isEmpty) continue
      this.#work.missedIn.add(channelId)
      this.#schedule()
    }
  }

  /** Presence rows were lost, so earlier counts may have reached no one: recounts recent events. */
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

  /** An operation has sent the user a count. Their total follows once all counts are loaded. */
  recordCount(user: UserRef, sent: Omit<UnreadCount, keyof UserRef>) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    // The user may have left the channel since.
    const isMember = !known.isComplete || known.counts.has(sent.channelId)
    if (isMember) this.#cache.record(known, sent)
    if (known.isComplete) return this.#sender.sendTotal(known)
    this.#work.owedTotals.set(userKey(user), user)
    this.#schedule()
  }

  /** A node has sent the user a total. It is compared with ours once that is up to date. */
  recordTotal(user: UserRef, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#cache.getOrCreate(user).total = count
    this.#work.staleTotals.set(userKey(user), user)
    this.#schedule()
  }

  /** The user was sent a channel that is new to them, after a newer count of it perhaps. */
  channelAdded(user: UserRef, channel: { id: string; unreadCount: number; unreadVersion: number }) {
    if (!this.options.sessions.has(user)) return
    const { id: channelId, unreadCount: count, unreadVersion: version } = channel
    const known = this.#cache.getOrCreate(user)
    const newer = this.#cache.record(known, { channelId, count, version })
    if (newer) this.#sender.sendCount({ ...user, channelId, ...newer }, null, true)
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

  /** Counts what happened last, for the users of other nodes. */
  async stop() {
    clearTimeout(this.#timer)
    this.#isStopped = true
    await this.#running
    if (this.#work.dirty.size > 0 && this.options.isHeard())
      await this.#countForAll(this.#work).catch(() => {})
    this.#announced.flush()
  }

  #schedule() {
    if (this.#timer !== undefined || this.#running || this.#isStopped) return
    const waitMs = this.#endedAt + this.options.pauseMs - performance.now()
    this.#timer = setTimeout(
      () => {
        this.#running = this.#run()
      },
      Math.max(0, waitMs),
    )
  }

  async #run() {
    this.#timer = undefined
    const work = this.#work
    this.#work = new UnreadWork()
    try {
      if (work.dirty.size > 0) await this.#tell(await this.#countForAll(work))
      if (work.missedIn.size > 0) await this.#countMissed([...work.missedIn])
      await this.#tell([...work.received.values()])
      await this.#sendOwed([...work.owedTotals.values()])
      // Last, so that no count read before a user left a channel stays with them.
      await this.#loader.reloadLeavers(work.usersWhoLeft)
      const { missedSeconds } = work
      if (missedSeconds > 0)
        await this.#loader.sendMissed(this.options.sessions.users(), missedSeconds)
      for (const user of work.staleTotals.values()) this.#sender.correctTotal(this.#cache.get(user))
      this.#endedAt = performance.now()
    } catch (error) {
      this.#work.add(work)
      if (!this.#isStopped) this.options.report(error, 'unread count failed')
      this.#endedAt = performance.now() + RETRY_MS
    }
    this.#running = undefined
    if (this.#work.isDue) this.#schedule()
  }

  /** Counts channels for all nodes, tells the others, and returns what concerns this one. */
  async #countForAll({ dirty, deletedIn }: UnreadWork): Promise<ReceivedCount[]> {
    const { db, nodeId, send } = this.options
    const channels = { nodeId: null, channelIds: [...dirty.keys()] }
    const rows = await db.use((db) => selectCountsOfChannels(db, channels))
    const changeOf = (channelId: string) => ({
      author: dirty.get(channelId)?.author ?? null,
      isDeletion: deletedIn.has(channelId),
    })
    const others = rows.filter((row) => row.nodeId !== nodeId)
    for (const note of countsNotes(others, changeOf)) send(note)
    this.#announced.add([...dirty])
    const own = rows.filter((row) => row.nodeId === nodeId)
    return own.map((row) => ({ ...row, ...changeOf(row.channelId) }))
  }

  async #countMissed(channelIds: string[]) {
    const { db, nodeId } = this.options
    const rows = await db.use((db) => selectCountsOfChannels(db, { nodeId, channelIds }))
    await this.#tell(rows.map((row) => ({ ...row, author: null, isDeletion: false })))
  }

  /** Sends users of this node their counts, and then their totals. */
  async #tell(rows: ReceivedCount[]) {
    await this.#loader.loadInitial(rows)
    const changed = new Set<UserCounts>()
    for (const row of rows) {
      const known = this.#sender.sendCount(row, row.author, row.isDeletion)
      if (known) changed.add(known)
    }
    for (const known of changed) this.#sender.sendTotal(known)
  }

  /** Sends users their total, whether or not they know it. */
  async #sendOwed(users: UserRef[]) {
    const present = users.filter((user) => this.options.sessions.has(user))
    await this.#loader.loadInitial(present)
    for (const user of present) {
      const known = this.#cache.get(user)
      if (known) this.#sender.sendTotal(known)
    }
  }
}
