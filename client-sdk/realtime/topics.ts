import { channelTopic } from '../generated/topic-names.ts'
import type { TopicPosition } from '../protocol/messages.ts'
import { isDeepEqual } from '../shared/equality.ts'
import type { Connection } from './connection.ts'
import type { ChannelEvent } from './events.ts'

/** Called at each subscription; `isRecovered` if no event was missed since the last position. */
type OnSubscribed = (context: { isRecovered: boolean; position: TopicPosition }) => void
type SharedTopic = {
  listeners: Set<OnSubscribed>
  position?: TopicPosition | undefined
  since: TopicPosition | undefined
  unsubscribe?: () => void
}
type ChannelTopicsOptions = {
  link: Connection
  onEvent: (channelId: string, event: ChannelEvent) => void
  /** The user may not read the channel, or no longer. */
  onAccessLost: (channelId: string) => void
}

/** The topics of channels, each subscribed once however many listeners it has. */
export class ChannelTopics {
  readonly #topics = new Map<string, SharedTopic>()
  #appId: string | undefined

  constructor(readonly options: ChannelTopicsOptions) {}

  /**
   * Subscribes to the topics; their names contain the app's id, which comes with the first token.
   */
  begin(appId: string) {
    this.#appId = appId
    for (const [channelId, topic] of this.#topics) this.#open(channelId, topic)
  }

  /** Returns the unsubscribe. */
  subscribe(channelId: string, onSubscribed: OnSubscribed, since?: TopicPosition): () => void {
    const known = this.#topics.get(channelId)
    const topic: SharedTopic = known ?? { listeners: new Set(), since }
    const { position } = topic
    // A topic that others have opened goes on from its own position, not from the caller's.
    let isBehind = known && !(position && isDeepEqual(since, position))
    const listener: OnSubscribed = ({ isRecovered, position }) => {
      onSubscribed({ isRecovered: isRecovered && !isBehind, position })
      isBehind = false
    }
    this.#topics.set(channelId, topic)
    topic.listeners.add(listener)
    if (!topic.unsubscribe) this.#open(channelId, topic)
    else if (position) listener({ isRecovered: true, position })
    return () => {
      topic.listeners.delete(listener)
      if (topic.listeners.size > 0 || this.#topics.get(channelId) !== topic) return
      this.#topics.delete(channelId)
      topic.unsubscribe?.()
    }
  }

  /** The connection was lost: positions are unknown until topics are subscribed again. */
  handleDisconnect() {
    for (const topic of this.#topics.values()) topic.position = undefined
  }

  /** Subscribes again after the user regained access. */
  resubscribe(channelId: string) {
    const topic = this.#topics.get(channelId)
    if (topic) this.#open(channelId, topic)
  }

  #open(channelId: string, topic: SharedTopic) {
    if (this.#appId === undefined || topic.unsubscribe) return
    topic.unsubscribe = this.options.link.subscribe(channelTopic(this.#appId, channelId), {
      since: topic.since,
      onSubscribed: (context) => {
        topic.position = context.position
        for (const listener of [...topic.listeners]) listener(context)
      },
      onEvent: (envelope, rev) => {
        if (rev !== undefined && topic.position) topic.position = { ...topic.position, offset: rev }
        // The server validates events against the contract.
        this.options.onEvent(channelId, { ...(envelope as ChannelEvent), rev })
      },
      onAccessLost: () => {
        topic.unsubscribe?.()
        delete topic.unsubscribe
        topic.position = undefined
        this.options.onAccessLost(channelId)
      },
    })
  }
}
