import type { TopicEvent } from './reducer.ts'

/** News within so long of each other may have crossed. */
const CROSSING_MS = 1_000

/**
 * A message counts as read by its author if he had read all before it. Reading is told at once, messages in order: when
 * both come close to each other, only the server knows which was first.
 */
export class Crossings {
  readonly #readAt = new Map<string, number>()
  readonly #sentAt = new Map<string, number>()

  /** Whether the event may have crossed with another of the same user. */
  note({ type, payload }: TopicEvent): boolean {
    if (type !== 'read.updated' && type !== 'message.new') return false
    const userId = type === 'read.updated' ? payload.userId : payload.message.userId
    const [own, other] =
      type === 'read.updated' ? [this.#readAt, this.#sentAt] : [this.#sentAt, this.#readAt]
    const key = `${payload.channelId} ${userId}`
    own.set(key, Date.now())
    return Date.now() - (other.get(key) ?? 0) < CROSSING_MS
  }
}
