import { type UserRef, userKey } from '../core/user-ref.ts'
import type { ReceivedCount } from './received-counts.ts'

type DirtyChannel = { offset: number; author: string | null }

/** What the unread notifier has to do in its next run. */
export class UnreadWork {
  /**
   * Channels to count for all nodes, each with its last event, and the only author of what happened
   * there, whose own count does not change; null if there are several authors.
   */
  readonly dirty = new Map<string, DirtyChannel>()
  /** Channels to count for the users of this node, whom nobody may have sent their counts. */
  readonly missedIn = new Set<string>()
  /**
   * Channels in which a message was deleted. Clients may have loaded a count that was never sent,
   * between the message and its deletion: the count is sent even if it is the last one again.
   */
  readonly deletedIn = new Set<string>()
  /** Counts from other nodes, of users whose other counts are not loaded. */
  readonly received = new Map<string, ReceivedCount>()
  /** Users who have read, before all their counts were loaded: their total has to follow. */
  readonly owedTotals = new Map<string, UserRef>()
  /** Users who have fewer channels than before: all their counts are loaded again. */
  readonly usersWhoLeft = new Map<string, UserRef>()
  /** Users whose last total may be stale (computed before a count we have sent since). */
  readonly staleTotals = new Map<string, UserRef>()
  /** For how long notes may have been missed: all counts are compared with those that were sent. */
  missedSeconds = 0

  get isDue() {
    const users = this.owedTotals.size + this.usersWhoLeft.size + this.staleTotals.size
    const counts = this.dirty.size + this.missedIn.size + this.received.size
    return counts + users > 0 || this.missedSeconds > 0
  }

  markDirty(channelId: string, { offset, author }: DirtyChannel) {
    const known = this.dirty.get(channelId)
    this.dirty.set(channelId, {
      offset: Math.max(offset, known?.offset ?? 0),
      author: known === undefined || known.author === author ? author : null,
    })
  }

  receive(count: ReceivedCount) {
    const key = `${userKey(count)} ${count.channelId}`
    const known = this.received.get(key)
    if (!known || known.version <= count.version) this.received.set(key, count)
  }

  missed(seconds: number) {
    this.missedSeconds = Math.max(seconds, this.missedSeconds)
  }

  /** Takes over what could not be done. */
  add(other: UnreadWork) {
    this.missed(other.missedSeconds)
    for (const user of other.owedTotals.values()) this.owedTotals.set(userKey(user), user)
    for (const user of other.usersWhoLeft.values()) this.usersWhoLeft.set(userKey(user), user)
    for (const user of other.staleTotals.values()) this.staleTotals.set(userKey(user), user)
    for (const channelId of other.deletedIn) this.deletedIn.add(channelId)
    for (const channelId of other.missedIn) this.missedIn.add(channelId)
    for (const count of other.received.values()) this.receive(count)
    for (const [channelId, dirty] of other.dirty) this.markDirty(channelId, dirty)
  }
}
