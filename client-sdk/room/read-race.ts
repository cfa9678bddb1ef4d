import type { ChannelEvent } from '../events.ts'

/** Events within this time of each other may have arrived in the wrong order. */
const RACE_MS = 1_000

/**
 * Authors have read their own message if they had read everything before it. But `read.updated` is
 * ephemeral and can overtake `message.new`: if the two come close together, only the server knows
 * which was first, so reads are fetched again.
 */
export class ReadRace {
  readonly #readAt = new Map<string, number>()
  readonly #sentAt = new Map<string, number>()

  /** Records an event; true if it may have raced with another one of the same user. */
  record({ type, payload }: ChannelEvent): boolean {
    if (type !== 'read.updated' && type !== 'message.new') return false
    const isRead = type === 'read.updated'
    const userId = isRead ? payload.userId : payload.message.userId
    const [own, other] = isRead ? [this.#readAt, this.#sentAt] : [this.#sentAt, this.#readAt]
    const key = `${payload.channelId} ${userId}`
    const now = performance.now()
    own.set(key, now)
    return now - (other.get(key) ?? Number.NEGATIVE_INFINITY) < RACE_MS
  }
}
