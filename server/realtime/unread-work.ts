import { type UserRef, userKey } from '../core/user-ref.ts'

/** What the unread notifier has to do in its next run. */
export class UnreadWork {
  /**
   * Channels to count, each with the only author of what happened there, whose own count does not
   * change; null if there are several authors.
   */
  readonly dirty = new Map<string, string | null>()
  /**
   * Channels in which a message was deleted. Clients may have loaded a count that was never sent,
   * between the message and its deletion: the count is sent even if it is the last one again.
   */
  readonly deletedIn = new Set<string>()
  /** Users who were sent a count: their total has to follow. */
  readonly owedTotals = new Map<string, UserRef>()
  /** Users who have fewer channels than before: all their counts are loaded again. */
  readonly usersWhoLeft = new Map<string, UserRef>()
  /** Users whose last total may be stale (computed before a count we have sent since). */
  readonly staleTotals = new Map<string, UserRef>()
  /** For how long notes may have been missed: all counts are compared with those that were sent. */
  missedSeconds = 0

  get isDue() {
    const users = this.owedTotals.size + this.usersWhoLeft.size + this.staleTotals.size
    return this.dirty.size + users > 0 || this.missedSeconds > 0
  }

  markDirty(channelId: string, author: string | null) {
    const isSame = !this.dirty.has(channelId) || this.dirty.get(channelId) === author
    this.dirty.set(channelId, isSame ? author : null)
  }

  missed(seconds: number) {
    this.missedSeconds = Math.max(seconds, this.missedSeconds)
  }

  /** The channels were counted. */
  done(channelIds: string[]) {
    for (const channelId of channelIds) {
      this.dirty.delete(channelId)
      this.deletedIn.delete(channelId)
    }
  }

  /** Takes over what could not be done. */
  add(other: UnreadWork) {
    this.missed(other.missedSeconds)
    for (const user of other.owedTotals.values()) this.owedTotals.set(userKey(user), user)
    for (const user of other.usersWhoLeft.values()) this.usersWhoLeft.set(userKey(user), user)
    for (const user of other.staleTotals.values()) this.staleTotals.set(userKey(user), user)
    for (const channelId of other.deletedIn) this.deletedIn.add(channelId)
    for (const [channelId, author] of other.dirty) this.markDirty(channelId, author)
  }
}
