import { setTimeout as sleep } from 'node:timers/promises'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { CountsNote, Interest } from '../broker/index.ts'
import { type CountedEvent, changeOf, type DirtyChannels } from '../dirty-channels.ts'
import type { UserFanoutOptions } from '../fanout/index.ts'
import type { Reach } from '../fanout/reach.ts'
import type { ChannelOffset } from '../queries.ts'
import { UnreadCache } from './cache.ts'
import { CountedElsewhere } from './counted-elsewhere.ts'
import { CountedOffsets } from './counted-offsets.ts'
import { UnreadCounter } from './counter.ts'
import type { ConnectedCount, UnreadCount } from './counts.ts'
import { UnreadLoader } from './loader.ts'
import { PausedRuns } from './paused-runs.ts'
import { type CausedCount, countsNotes, countsOf, withChanges } from './received-counts.ts'
import { UnreadSender } from './sender.ts'
import { SlowCounts } from './slow-counts.ts'
import { UnreadWork } from './work.ts'

type UnreadOptions = UserFanoutOptions & {
  pauseMs: number
  interest: Pick<Interest, 'settled'>
  /** Whether any user may be connected, here or elsewhere. */
  hasReceivers: () => boolean
  send: (note: CountsNote) => void
}

type SentCount = Omit<UnreadCount, keyof UserRef>
type AddedChannel = { id: string; unreadCount: number; unreadVersion: number }

/** How long a stop waits for the last counts. */
const STOP_MS = 1_000

/**
 * Sends connected users their unread counts, as absolute numbers. The node where something happened
 * counts its channels together, for all nodes, and sends each the counts of its users; the next
 * count follows after a pause, so that a flood of messages does not become a flood of statements.
 */
export class UnreadNotifier {
  #work = new UnreadWork()
  readonly #counted = new CountedOffsets()
  readonly #elsewhere: CountedElsewhere
  readonly #cache: UnreadCache
  readonly #sender: UnreadSender
  readonly #loader: UnreadLoader
  readonly #counter: UnreadCounter
  readonly #slow: SlowCounts
  readonly #runs: PausedRuns

  constructor(readonly options: UnreadOptions) {
    const cache = new UnreadCache(options.sessions)
    const sender = new UnreadSender(cache, options.broadcast)
    const onUnsure = (user: UserRef) => this.memberLeft(user)
    this.#cache = cache
    this.#elsewhere = new CountedElsewhere(options.pauseMs)
    this.#sender = sender
    this.#loader = new UnreadLoader({ ...options, cache, sender, onUnsure })
    this.#counter = new UnreadCounter(options)
    this.#slow = new SlowCounts({
      ...options,
      counter: this.#counter,
      onCounted: (...counted) => this.#receive(this.#sendOthers(...counted)),
    })
    this.#runs = new PausedRuns({
      pauseMs: options.pauseMs,
      work: () => this.#run(),
      isDue: () => this.#work.isDue,
      onFailure: (error) => options.report(error, 'unread count failed'),
    })
  }

  /** An event of this node may change the counts of a channel's members, on whichever node. */
  markDirty(channelId: string, event: CountedEvent) {
    this.#counted.add(channelId, event.offset)
    if (!this.options.hasReceivers()) return
    this.#mark('forAll', channelId, event)
  }

  /** Marks a channel for this node's users only, because of an event that no other node counts. */
  markOwn(channelId: string, event: CountedEvent) {
    this.#counted.add(channelId, event.offset)
    if (this.options.sessions.isEmpty) return
    this.#mark('forOwn', channelId, event)
  }

  /** Takes the counts that another node has read for users of this one. */
  receive({ channels, snapshot }: CountsNote) {
    for (const channel of channels) {
      this.#counted.add(channel.channelId, channel.offset)
      this.#elsewhere.record(channel, this.#work.forAll)
      this.#receive(countsOf(channel, snapshot))
    }
  }

  /** Counts the channels whose recent changes this node has missed, unless nobody here has them. */
  handleChanges(recent: ChannelOffset[]) {
    for (const { channelId, offset } of this.#counted.compare(recent)) {
      // Users who connect later load newer counts.
      if (this.options.sessions.isEmpty) this.#counted.add(channelId, offset)
      else this.#work.unsure.mark(channelId, changeOf({ offset }))
    }
    this.#runs.schedule()
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
    this.#work.missed(performance.now() - 1_000 * seconds)
    this.#runs.schedule()
  }

  /** Notes that a client of the user loads its counts now: it has not received earlier ones. */
  clientLoads(user: UserRef) {
    this.#cache.markAsUncertain(user)
  }

  /**
   * Notes a count that an operation has sent the user. Their total follows with the next counts, so
   * that many reads at once do not send as many totals.
   */
  recordCount(user: UserRef, { channelId, ...count }: SentCount) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    if (!known.isComplete || known.get(channelId)) this.#sender.recordSent(known, channelId, count)
    // The user has left the channel, or joined it: their counts show which.
    else this.#work.usersWhoLeft.set(userKey(user), user)
    this.#work.owedTotals.set(userKey(user), user)
    this.#runs.schedule()
  }

  /**
   * Notes a total that a node has sent the user. It is compared with ours once that is up to date.
   */
  recordTotal(user: UserRef, count: number) {
    if (!this.options.sessions.has(user)) return
    this.#cache.getOrCreate(user).sentTotal = count
    this.#work.staleTotals.set(userKey(user), user)
    this.#runs.schedule()
  }

  /** The user was sent a channel that is new to them, maybe after a newer count of it. */
  channelAdded(user: UserRef, { id, unreadCount: count, unreadVersion: version }: AddedChannel) {
    if (!this.options.sessions.has(user)) return
    const known = this.#cache.getOrCreate(user)
    const { total } = known
    this.#sender.recordSent(known, id, { count, version, snapshot: 0 })
    // It was read before it was committed, so the version of a total with it is not known.
    if (known.total !== total) this.memberLeft(user)
  }

  /** The user has left a channel, or it was deleted: their total changes. */
  memberLeft(user: UserRef) {
    if (!this.options.sessions.has(user)) return
    this.#work.usersWhoLeft.set(userKey(user), user)
    this.#runs.schedule()
  }

  /** Removes the channel from all users who have a count in it. */
  channelDeleted(channelId: string) {
    for (const user of this.#cache.usersOf(channelId)) this.memberLeft(user)
  }

  forget(user: UserRef) {
    this.#cache.forget(user)
  }

  /** Counts the last changes, for the users of other nodes. */
  async stop() {
    const finish = async () => {
      await this.#runs.stop()
      if (this.options.hasReceivers()) await this.#count('forAll', this.#work)
    }
    void this.#slow.stop()
    void this.#loader.stop()
    const patience = sleep(STOP_MS, undefined, { ref: false })
    await Promise.race([finish().catch(() => {}), patience])
  }

  #mark(reach: Reach, channelId: string, event: CountedEvent) {
    this.#work[reach].mark(channelId, changeOf(event))
    this.#runs.schedule()
  }

  #receive(counts: CausedCount[]) {
    for (const count of counts)
      if (this.options.sessions.has(count)) this.#work.received.receive(count)
    this.#runs.schedule()
  }

  async #run() {
    const work = this.#work
    this.#work = new UnreadWork()
    const waiting = this.#elsewhere.takeWaiting(work.forAll)
    this.#elsewhere.markShared(work.forAll)
    try {
      await this.#count('forAll', work)
      await this.#findOwn(work)
      await this.#count('forOwn', work)
      await this.#loader.sendReceived(work)
      await this.#loader.sendOwed(work.owedTotals)
      // Last, so that no count read before a user left a channel stays with them.
      await this.#loader.reloadLeavers(work.usersWhoLeft)
      if (work.missedSince !== undefined)
        await this.#loader.sendMissed(this.options.sessions.users(), work.missedSince)
      work.missedSince = undefined
      for (const user of work.staleTotals.values()) this.#sender.correctTotal(this.#cache.get(user))
      work.staleTotals.clear()
    } finally {
      work.forAll.add(waiting)
      this.#work.add(work)
    }
  }

  /** Finds the channels that users of this node have, by the counts of all of them. */
  async #findOwn({ unsure, forOwn }: UnreadWork) {
    if (unsure.size === 0) return
    const areAllLoaded = await this.#loader.loadAll()
    for (const [channelId, change] of unsure.take(unsure.ids()).entries()) {
      if (areAllLoaded && !this.#cache.has(channelId)) continue
      this.#counted.add(channelId, change.offset)
      forOwn.mark(channelId, change)
    }
  }

  /** Counts channels, for all nodes or for this one; those that take too long are counted apart. */
  async #count(reach: Reach, work: UnreadWork) {
    const changes = work[reach]
    this.#slow.takeFrom(changes, reach)
    const onCounted = (counts: ConnectedCount[]) =>
      this.#loader.send(this.#sendOthers(counts, changes), work.owedTotals)
    this.#slow.add(reach, await this.#counter.count(changes, { reach, onCounted }))
  }

  /** Sends other nodes the counts that concern their users. Returns those of users of this one. */
  #sendOthers(counts: ConnectedCount[], changes: DirtyChannels): CausedCount[] {
    const { nodeId } = this.options
    const own = counts.filter((count) => count.nodeId === nodeId)
    const others = counts.filter((count) => count.nodeId !== nodeId)
    for (const note of countsNotes(others, (id) => changes.get(id))) this.options.send(note)
    return withChanges(own, changes)
  }
}
