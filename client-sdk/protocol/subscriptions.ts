import { createRetries } from '../calls/retry.ts'
import { notify } from '../shared/store.ts'
import type {
  ProtocolError,
  Publication,
  Push,
  SubscribeResult,
  TopicPosition,
} from './messages.ts'
import type { Session } from './session.ts'

/** The callbacks of a subscription, which last over all sessions. */
export type TopicSubscriber = {
  /** Where to recover from at the first subscription. */
  since?: TopicPosition | undefined
  /**
   * Events arrive without gaps from here on; if `isRecovered`, also since the last known position.
   */
  onSubscribed: (context: { isRecovered: boolean; position: TopicPosition }) => void
  onEvent: (envelope: unknown, rev: number | undefined) => void
  /** Called when the user may not, or no longer, read the topic. */
  onAccessLost: () => void
}
type Subscription = {
  name: string
  subscriber: TopicSubscriber
  /** Where to recover from; undefined for the newest position. */
  position: TopicPosition | undefined
  /** `waiting`: for a session, or for another attempt. */
  status: 'waiting' | 'subscribing' | 'subscribed'
  retries: ReturnType<typeof createRetries>
}

/** Error: the server cannot continue from the position. */
const UNRECOVERABLE_POSITION = 112
/** From this code on an ended subscription may be subscribed again at once. */
const RESUBSCRIBE = 2_500

/** The topics that the client wants: subscribed in each session, from where the last one ended. */
export class Subscriptions {
  readonly #topics = new Map<string, Subscription>()
  #session: Session | undefined
  #onSettled: (() => void) | undefined

  /** `onError` gets what a subscriber throws. */
  constructor(readonly onError: (error: unknown) => void) {}

  /** Returns the unsubscribe. */
  add(name: string, subscriber: TopicSubscriber): () => void {
    const position = subscriber.since
    const retries = createRetries(() => this.#subscribe(topic))
    const topic: Subscription = { name, subscriber, position, status: 'waiting', retries }
    this.#topics.set(name, topic)
    this.#subscribe(topic)
    return () => {
      if (!this.#isWanted(topic)) return
      this.#remove(topic)
      if (topic.status === 'waiting') return
      const session = this.#session
      session?.call({ unsubscribe: { channel: name } }, ({ error }) => {
        // The server might still have the subscription, and refuse another one.
        if (error) session.fail('unsubscribe failed')
      })
    }
  }

  /** Subscribes to every topic in a new session. */
  begin(session: Session) {
    this.#session = session
    for (const topic of this.#topics.values()) this.#subscribe(topic)
  }

  /** The session has ended. */
  halt() {
    this.#session = undefined
    for (const topic of this.#topics.values()) {
      topic.status = 'waiting'
      topic.retries.end()
    }
  }

  /** Calls back once no topic waits for its subscription. */
  whenSettled(onSettled: () => void) {
    this.#onSettled = onSettled
    this.#checkSettled()
  }

  get areSettled() {
    return [...this.#topics.values()].every(({ status }) => status === 'subscribed')
  }

  handlePush({ channel = '', pub, unsubscribe }: Push) {
    const topic = this.#topics.get(channel)
    // If not, it belongs to an earlier subscription, and the reply covers it.
    if (topic?.status !== 'subscribed') return
    if (pub) this.#deliver(topic, pub)
    if (!unsubscribe) return
    if (unsubscribe.code >= RESUBSCRIBE) this.#subscribe(topic)
    else this.#loseAccess(topic)
  }

  #subscribe(topic: Subscription) {
    if (!this.#session) return
    topic.status = 'subscribing'
    const { name: channel, position } = topic
    const recovery = position && { recover: true, ...position }
    this.#session.call({ subscribe: { channel, ...recovery } }, ({ error, subscribe = {} }) => {
      if (!this.#isWanted(topic)) return
      if (error) this.#handleRefusal(topic, error)
      else this.#handleSubscribed(topic, subscribe)
      this.#checkSettled()
    })
  }

  #handleSubscribed(topic: Subscription, result: SubscribeResult) {
    const { epoch = '', offset = 0, publications = [] } = result
    const position = { epoch, offset }
    topic.status = 'subscribed'
    topic.retries.end()
    topic.position = result.recoverable ? position : undefined
    const isRecovered = result.was_recovering === true && result.recovered === true
    this.#notify(() => topic.subscriber.onSubscribed({ isRecovered, position }))
    for (const publication of publications) {
      if (this.#isWanted(topic)) this.#deliver(topic, publication)
    }
  }

  #handleRefusal(topic: Subscription, { code, temporary }: ProtocolError) {
    if (code === UNRECOVERABLE_POSITION && topic.position) {
      topic.position = undefined
      return this.#subscribe(topic)
    }
    if (!temporary) return this.#loseAccess(topic)
    topic.status = 'waiting'
    topic.retries.later()
  }

  #deliver(topic: Subscription, { data, offset }: Publication) {
    const { position } = topic
    if (position && offset !== undefined)
      topic.position = { ...position, offset: Math.max(position.offset, offset) }
    this.#notify(() => topic.subscriber.onEvent(data, offset))
  }

  #loseAccess(topic: Subscription) {
    this.#remove(topic)
    this.#notify(() => topic.subscriber.onAccessLost())
  }

  #remove(topic: Subscription) {
    topic.retries.end()
    this.#topics.delete(topic.name)
    this.#checkSettled()
  }

  /** Whether it has not been left, or left and replaced, since the command was sent. */
  #isWanted(topic: Subscription) {
    return this.#topics.get(topic.name) === topic
  }

  #checkSettled() {
    if (!this.#onSettled || !this.areSettled) return
    this.#onSettled()
    this.#onSettled = undefined
  }

  /** One subscriber's fault must not keep events from the others. */
  #notify(work: () => void) {
    notify(work, this.onError)
  }
}
