import { parseTopic, topics } from '@parley/contract'
import type { Metrics } from '../../core/metrics.ts'
import type { UserRef } from '../../core/user-ref.ts'
import type { Interest } from '../broker/index.ts'
import type { OutgoingPublication } from '../publication.ts'
import { EventMemory } from './event-memory.ts'
import { Topic, type TopicOptions } from './index.ts'

/** How long a topic without subscriptions is kept, for clients that reconnect. */
const IDLE_TOPIC_MS = 30_000

export type TopicsOptions = {
  metrics: Pick<Metrics, 'deliveries' | 'eventMemory' | 'topicsEvicted'>
  /** How many bytes of events the topics of this node may keep. */
  eventMemoryBytes: number
  /** Follows the topics that exist here. */
  interest: Interest
  /** Called when a user's own topic has ended with publications that nobody can deliver. */
  onReset: (user: UserRef) => void
}

/** The topics with subscriptions on this node, by name. */
export class Topics {
  readonly #topics = new Map<string, Topic>()
  readonly #memory: EventMemory
  /** Shared by all topics, because there are as many as users. */
  readonly #topicOptions: TopicOptions

  constructor(
    readonly options: TopicsOptions,
    onDelivered: (outgoing: OutgoingPublication) => void,
  ) {
    const { metrics, eventMemoryBytes } = options
    this.#memory = new EventMemory({ mostBytes: eventMemoryBytes, metrics })
    const onKept = (topic: Topic, bytes: number) => {
      // A subscriber may still hold a removed topic, which then no longer counts here.
      if (this.get(topic.name) === topic) this.#memory.use(topic, bytes)
    }
    this.#topicOptions = { metrics, onDelivered, onKept }
  }

  get(name: string) {
    return this.#topics.get(name)
  }

  all() {
    return this.#topics.values()
  }

  open(name: string) {
    const known = this.#topics.get(name)
    if (known) return known
    const topic = new Topic(name, this.#topicOptions)
    this.#topics.set(name, topic)
    this.options.interest.follow(name)
    return topic
  }

  remove(topic: Topic) {
    this.#memory.use(topic, 0)
    // It may have been removed before, and another one have its name now.
    if (this.get(topic.name) !== topic) return
    this.#topics.delete(topic.name)
    this.options.interest.unfollow(topic.name)
  }

  /** Ends a topic whose missing publications are no longer in the log. */
  reset(topic: Topic) {
    const user = parseTopic(topic.name)
    if (user?.kind === 'user') this.options.onReset(user)
    this.#end(topic)
  }

  /** Ends all topics of an app. If it is imported again, their offsets begin again at 1. */
  removeOfApp(appId: string) {
    const prefixes = [topics.channel(appId, ''), topics.user(appId, '')]
    for (const topic of this.all())
      if (prefixes.some((prefix) => topic.name.startsWith(prefix))) this.#end(topic)
  }

  /** Removes a topic. Its subscribers must load the current state. */
  #end(topic: Topic) {
    this.remove(topic)
    topic.endAll('insufficient state')
  }

  removeIdle(now: number) {
    for (const topic of this.all()) {
      const { idleSince } = topic
      const isExpired = idleSince !== null && now - idleSince > IDLE_TOPIC_MS
      if (isExpired) this.remove(topic)
    }
  }
}
