import type { Connection, Position } from './connection.ts'
import type { TopicEvent } from './room/reducer.ts'

export type OnSubscribed = (context: { isRecovered: boolean; position: Position }) => void
type Topic = {
  listeners: Set<OnSubscribed>
  position?: Position | undefined
  since: Position | undefined
  close?: () => void
}
type Options = {
  connection: Connection
  onEvent: (channelId: string, event: TopicEvent) => void
  /** The channel is not, or no longer, this user's to read. */
  onRefused: (channelId: string) => void
}

/** The topics of channels, each subscribed once for all who want to hear it. */
export class Topics {
  readonly #topics = new Map<string, Topic>()
  #appId: string | undefined

  constructor(readonly options: Options) {}

  /** The app is known, and with it what topics are called. */
  open(appId: string) {
    this.#appId = appId
    for (const [channelId, topic] of this.#topics) this.#open(channelId, topic)
  }

  /** Calls back each time the topic is subscribed, with what is known of the time before; returns the unsubscribe. */
  join(channelId: string, onSubscribed: OnSubscribed, since?: Position): () => void {
    const topic = this.#topics.get(channelId) ?? { listeners: new Set(), since }
    this.#topics.set(channelId, topic)
    topic.listeners.add(onSubscribed)
    if (!topic.close) this.#open(channelId, topic)
    else if (topic.position) {
      const { position } = topic
      // As if just subscribed: who has heard everything up to here has missed nothing.
      onSubscribed({
        isRecovered: since?.epoch === position.epoch && since.offset === position.offset,
        position,
      })
    }
    return () => {
      topic.listeners.delete(onSubscribed)
      if (topic.listeners.size > 0 || this.#topics.get(channelId) !== topic) return
      this.#topics.delete(channelId)
      topic.close?.()
    }
  }

  /** The connection is lost. */
  pause() {
    for (const topic of this.#topics.values()) topic.position = undefined
  }

  /** Subscribes anew to what was refused before. */
  return(channelId: string) {
    const topic = this.#topics.get(channelId)
    if (topic && !topic.close) this.#open(channelId, topic)
  }

  #open(channelId: string, topic: Topic) {
    if (this.#appId === undefined || topic.close) return
    topic.close = this.options.connection.subscribe(
      `chat:${this.#appId}:${channelId}`,
      {
        onSubscribed: (context) => {
          topic.position = context.position
          for (const listener of [...topic.listeners]) listener(context)
        },
        onEvent: (envelope, rev) => {
          if (rev !== undefined && topic.position)
            topic.position = { ...topic.position, offset: rev }
          this.options.onEvent(channelId, { ...(envelope as TopicEvent), rev }) // the server holds it against the contract
        },
        onRefused: () => {
          topic.close?.()
          delete topic.close
          topic.position = undefined
          this.options.onRefused(channelId)
        },
      },
      topic.since,
    )
  }
}
