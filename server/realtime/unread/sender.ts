import { type Envelope, topics } from '@parley/contract'
import type { UserRef } from '../../core/user-ref.ts'
import type { VersionedCount } from '../../features/reads.ts'
import type { UserFanoutOptions } from '../fanout/index.ts'
import type { UnreadCache } from './cache.ts'
import type { UnreadCount } from './counts.ts'
import type { UserCounts } from './user-counts.ts'

/** Sends users the counts that they may not know. */
export class UnreadSender {
  constructor(
    readonly cache: UnreadCache,
    readonly broadcast: UserFanoutOptions['broadcast'],
  ) {}

  /**
   * Sends a count, or a newer one that is known, unless the user surely knows it: one that was
   * loaded but never sent may have changed since their client loaded it, however long ago that was.
   * Returns the user's counts if it was sent.
   */
  sendCount(
    { channelId, count, version, snapshot, ...user }: UnreadCount,
    author: string | null,
    mustSend = false,
  ) {
    const known = this.cache.get(user)
    if (!known) return undefined
    const last = known.get(channelId)
    const newest = known.take(channelId, { count, version, snapshot })
    const isUncertain = !last?.isSent && author !== user.userId
    if (last?.shown.count === newest.count && !isUncertain && !mustSend) return undefined
    this.#sendCount(known, channelId, newest)
    return known
  }

  /**
   * Notes a count that an operation has sent the user. If a newer one is known, sends that after
   * it.
   */
  recordSent(known: UserCounts, channelId: string, sent: VersionedCount) {
    const newest = known.recordSent(channelId, sent, performance.now())
    if (newest.count !== sent.count) this.#sendCount(known, channelId, newest)
  }

  sendTotal(known: UserCounts) {
    known.sentTotal = known.total
    const payload = known.totalToSend()
    this.#send(known.user, { type: 'channel.total_unread_changed', payload })
  }

  correctTotal(known: UserCounts | undefined) {
    if (known?.isComplete && known.sentTotal !== known.total) this.sendTotal(known)
  }

  #sendCount(known: UserCounts, channelId: string, newest: VersionedCount) {
    known.recordSent(channelId, newest)
    const { count, version } = newest
    const payload = { channelId, count, version }
    this.#send(known.user, { type: 'channel.unread_changed', payload })
  }

  #send({ appId, userId }: UserRef, event: Envelope) {
    this.broadcast([topics.user(appId, userId)], event)
  }
}
