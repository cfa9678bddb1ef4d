import type { TopicPosition } from '../realtime/connection.ts'
import type { ChannelTopics } from '../realtime/topics.ts'

/** How many channels' topics are subscribed to. */
const MAX_SUBSCRIPTIONS = 500

/** The topics of the channels whose records are loaded. */
export class RecordSubscriptions {
  readonly #unsubscribes = new Map<string, () => void>()

  constructor(readonly topics: ChannelTopics) {}

  has(channelId: string) {
    return this.#unsubscribes.has(channelId)
  }

  /** Calls `onMissed` with the position of a subscription that does not continue the last one. */
  add(channelId: string, onMissed: (position: TopicPosition) => void) {
    if (this.has(channelId) || this.#unsubscribes.size >= MAX_SUBSCRIPTIONS) return
    this.#unsubscribes.set(channelId, () => {})
    const unsubscribe = this.topics.subscribe(channelId, ({ isRecovered, position }) => {
      if (!isRecovered) onMissed(position)
    })
    // The channel may have been removed while subscribing.
    if (this.has(channelId)) this.#unsubscribes.set(channelId, unsubscribe)
    else unsubscribe()
  }

  delete(channelId: string) {
    this.#unsubscribes.get(channelId)?.()
    this.#unsubscribes.delete(channelId)
  }
}
