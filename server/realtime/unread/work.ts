import { type UserRef, userKey } from '../../core/user-ref.ts'
import { DirtyChannels } from '../dirty-channels.ts'
import { ReceivedCounts } from './received-counts.ts'

/** The work of the unread notifier's next run. */
export class UnreadWork {
  /** Channels to count for the users of all nodes. */
  readonly forAll = new DirtyChannels()
  /** Channels to count for the users of this node. */
  readonly forOwn = new DirtyChannels()
  /** Channels to count for the users of this node, if any of them is a member. */
  readonly unsure = new DirtyChannels()
  /** Counts of users of this node, which other nodes have read. */
  readonly received = new ReceivedCounts()
  /** Users who were sent a count: their total has to follow. */
  readonly owedTotals = new Map<string, UserRef>()
  /** Users who may have other channels than before: all their counts are loaded again. */
  readonly usersWhoLeft = new Map<string, UserRef>()
  /** Users whose last total may be stale (computed before a count we have sent since). */
  readonly staleTotals = new Map<string, UserRef>()
  /**
   * Since when notes may have been missed, by `performance.now()`: all counts are compared with
   * those that were sent.
   */
  missedSince: number | undefined

  get isDue() {
    const users = this.owedTotals.size + this.usersWhoLeft.size + this.staleTotals.size
    const channels = this.forAll.size + this.forOwn.size + this.unsure.size
    const counts = channels + this.received.size
    return counts + users > 0 || this.missedSince !== undefined
  }

  missed(since: number) {
    this.missedSince = Math.min(since, this.missedSince ?? since)
  }

  /** Takes over unfinished work. */
  add(other: UnreadWork) {
    if (other.missedSince !== undefined) this.missed(other.missedSince)
    for (const user of other.owedTotals.values()) this.owedTotals.set(userKey(user), user)
    for (const user of other.usersWhoLeft.values()) this.usersWhoLeft.set(userKey(user), user)
    for (const user of other.staleTotals.values()) this.staleTotals.set(userKey(user), user)
    this.forAll.add(other.forAll)
    this.forOwn.add(other.forOwn)
    this.unsure.add(other.unsure)
    this.received.add(other.received)
  }
}
