import { type Envelope, topics } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import { totalOf, type UnreadCache, type UserCounts } from './unread-cache.ts'
import type { UnreadCount } from './unread-counts.ts'
import type { UserFanoutOptions } from './user-fanout.ts'

/** How long after loading a user's counts their client may still show older ones. */
const UNCERTAIN_MS = 20_000

/** Sends users the counts that they may not know. */
export class UnreadSender {
  constructor(
    readonly cache: UnreadCache,
    readonly broadcast: UserFanoutOptions['broadcast'],
  ) {}

  /** Sends a count unless the user surely knows it. Returns the user's counts if it was sent. */
  sendCount(
    { channelId, count, version, ...user }: UnreadCount,
    author: string | null,
    mustSend = false,
  ) {
    const known = this.cache.get(user)
    if (!known) return undefined
    const last = known.counts.get(channelId)
    const isRecent = performance.now() - known.since < UNCERTAIN_MS
    const isUncertain = !last?.isSent && author !== user.userId && isRecent
    if (last?.count === count && !isUncertain && !mustSend) return undefined
    known.counts.set(channelId, { count, isSent: true })
    this.#send(user, { type: 'channel.unread_changed', payload: { channelId, count, version } })
    return known
  }

  sendTotal(known: UserCounts) {
    const count = totalOf(known)
    known.total = count
    this.#send(known.user, { type: 'channel.total_unread_changed', payload: { count } })
  }

  correctTotal(known: UserCounts | undefined) {
    if (known?.isComplete && known.total !== totalOf(known)) this.sendTotal(known)
  }

  #send({ appId, userId }: UserRef, event: Envelope) {
    this.broadcast([topics.user(appId, userId)], event)
  }
}
