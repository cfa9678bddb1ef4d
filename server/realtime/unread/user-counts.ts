import type { UserRef } from '../../core/user-ref.ts'
import type { VersionedCount } from '../../features/reads.ts'

type KnownCount = {
  /** The newest that is known. Clients may not have it yet. */
  newest: VersionedCount
  /** The count that clients have: the last one sent, or else the first one loaded. */
  shown: VersionedCount
  /** Whether it was sent while all clients of the user were there. */
  isSent: boolean
  /** When an operation last sent one. */
  recordedAt: number
}

/** When the statement of a load began, and the number of the snapshot that it has read. */
type CountLoad = { startedAt: number; snapshot: number }

/** The unread counts of a user, as far as they are loaded. */
export class UserCounts {
  /** Whether all counts were loaded. Before that, only counts that were sent are here. */
  isComplete = false
  /** The last total that was sent. */
  sentTotal: number | undefined
  readonly #counts = new Map<string, KnownCount>()
  #total = 0
  /** The highest of the snapshots that counts were read from; NaN if that is not known. */
  #snapshot = 0

  constructor(
    readonly user: UserRef,
    /** The users with a count in a channel, by channel. */
    readonly holders: Map<string, Set<UserCounts>>,
  ) {}

  /** The sum of the newest counts. */
  get total() {
    return this.#total
  }

  /**
   * The total to send now. Its version is the highest snapshot of its counts, so answers that were
   * read before the last change have a lower one. Without a version, clients drop the one they
   * know.
   */
  totalToSend() {
    const snapshot = this.#snapshot
    if (Number.isNaN(snapshot)) this.#snapshot = 0
    return { count: this.#total, ...(snapshot > 0 && { version: snapshot }) }
  }

  get(channelId: string): Readonly<KnownCount> | undefined {
    return this.#counts.get(channelId)
  }

  /** Takes a count, unless a newer one is known. Returns the newest. */
  take(channelId: string, count: VersionedCount): VersionedCount {
    return this.#take(channelId, count).newest
  }

  /** Like `take`, for a count that the user was sent. */
  recordSent(channelId: string, sent: VersionedCount, recordedAt = 0): VersionedCount {
    const known = this.#take(channelId, sent)
    known.shown = sent
    known.isSent = true
    known.recordedAt = Math.max(recordedAt, known.recordedAt)
    return known.newest
  }

  /**
   * Takes all counts, as a statement that began at `startedAt` has read them, and forgets those of
   * other channels. Returns false if an operation has sent a count of one of these since: it may
   * be of a channel that the user has joined.
   */
  complete(counts: Map<string, VersionedCount>, { startedAt, snapshot }: CountLoad) {
    this.#see(snapshot)
    for (const [channelId, count] of counts) this.#take(channelId, count)
    let isSure = true
    for (const [channelId, { newest, recordedAt }] of this.#counts) {
      if (counts.has(channelId)) continue
      if (recordedAt >= startedAt) isSure = false
      else {
        this.#total -= newest.count
        this.#drop(channelId)
      }
    }
    return isSure
  }

  /** From now on a client of the user may show other counts than those that were sent. */
  markAsUncertain() {
    for (const known of this.#counts.values()) known.isSent = false
  }

  forget() {
    for (const channelId of this.#counts.keys()) this.#drop(channelId)
  }

  /** Forgets the versions of counts, because a restored database has lower ones. */
  forgetVersions() {
    for (const known of this.#counts.values()) known.newest = { ...known.newest, version: 0 }
    this.#see(Number.NaN)
  }

  #see(snapshot: number) {
    this.#snapshot = Math.max(this.#snapshot, snapshot)
  }

  #take(channelId: string, count: VersionedCount): KnownCount {
    const known = this.#counts.get(channelId)
    if (known && known.newest.version > count.version) return known
    this.#see(count.snapshot)
    this.#total += count.count - (known?.newest.count ?? 0)
    const taken = known ?? { newest: count, shown: count, isSent: false, recordedAt: 0 }
    taken.newest = count
    if (!known) this.#hold(channelId, taken)
    return taken
  }

  #hold(channelId: string, count: KnownCount) {
    this.#counts.set(channelId, count)
    const holders = this.holders.get(channelId)
    if (holders) holders.add(this)
    else this.holders.set(channelId, new Set([this]))
  }

  #drop(channelId: string) {
    this.#counts.delete(channelId)
    const holders = this.holders.get(channelId)
    holders?.delete(this)
    if (holders?.size === 0) this.holders.delete(channelId)
  }
}
