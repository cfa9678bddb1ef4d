import { type Envelope, parseTopic, topics as topicNames } from '@parley/contract'
import type { StoredEvent } from '../core/event-buffer.ts'
import type { Metrics } from '../core/metrics.ts'
import type { EventLog, SubscribeGrant } from './event-log.ts'
import type { Delivery, DurablePublication } from './publication.ts'
import type { User } from './sessions.ts'
import { type Subscriber, Subscription, Topic } from './topic.ts'

/** A place in a topic's history. */
export type Position = { epoch: string; offset: number }
export type TopicRequest = { topic: string; recover: Position | null }
/** `release` starts live delivery; to be called once the answer is on its way. */
export type Subscribed = {
  subscription: Subscription
  position: Position
  wasRecovered: boolean
  publications: DurablePublication[]
  release(): void
}

/** Publications handed over by concurrent transactions may swap places; so long a hole may fill by itself. */
const SWAP_MS = 25
/** So long a topic nobody is subscribed to is kept, for those who come back. */
const LINGER_MS = 30_000
const TOPICS_A_READ = 500

/**
 * Delivers each durable event of a topic to each of its subscriptions on this node exactly once and in order, whatever
 * is lost or reordered on the way here: the order is that of the offsets, and what is missing is read from the log.
 */
export class Hub {
  readonly #topics = new Map<string, Topic>()
  readonly #behind = new Set<Topic>()
  #isMending = false
  #epoch = ''

  constructor(
    readonly log: EventLog,
    readonly told: {
      metrics: Pick<Metrics, 'deliveries' | 'holes'>
      report: (error: unknown, problem: string) => void
      /** A user was told in his own topic that he has gained or lost a channel. */
      onOwn: (user: User, event: Envelope) => void
    },
  ) {}

  async start() {
    this.#epoch = await this.log.epoch()
  }

  /** Subscribes to topics by one look at the database; null for a topic that is not the subscriber's to hear. */
  async subscribe(
    subscriber: Subscriber & { appId: string },
    requests: TopicRequest[],
  ): Promise<(Subscribed | null)[]> {
    const { appId, userId } = subscriber
    const joined = requests
      .filter(({ topic }) => isOwn(topic, { appId, userId }))
      .map(({ topic, recover }) => this.#join(subscriber, { topic, recover }))
    if (joined.length === 0) return requests.map(() => null)
    try {
      const grants = await this.log.admit(
        joined.map(({ request, since }) => ({ appId, userId, topic: request.topic, since })),
      )
      const answers = new Map(
        joined.map((joining, index) => [
          joining.request.topic,
          this.#settle(joining, grants[index] ?? null),
        ]),
      )
      return requests.map(({ topic }) => answers.get(topic) ?? null)
    } catch (error) {
      for (const { subscription } of joined) this.#leave(subscription)
      throw error
    }
  }

  /** Where topics stand, as far as the user may read them. */
  look(
    { appId, userId }: { appId: string; userId: string },
    names: string[],
  ): Promise<SubscribeGrant[]> | null[] {
    const own = names.filter((topic) => isOwn(topic, { appId, userId }))
    return own.length < names.length
      ? names.map(() => null)
      : this.log.admit(own.map((topic) => ({ appId, userId, topic, since: null })))
  }

  /** Takes in events that this node has committed. */
  publish(events: StoredEvent[]) {
    for (const { topic: name, ...publication } of events) {
      const topic = this.#topics.get(name)
      if (!topic) continue
      topic.accept(publication)
      if (topic.hasHole) setTimeout(() => topic.hasHole && this.#mend(topic), SWAP_MS)
    }
  }

  /** Another node has committed an event. */
  hear(name: string, offset: number) {
    const topic = this.#topics.get(name)
    topic?.heardOf(offset)
    if (topic?.hasHole) this.#mend(topic)
  }

  /** Sends an ephemeral event to topics, serialised once and only if there is a subscriber here. */
  broadcast(names: string[], { type, payload }: Envelope, onlyFor?: string | undefined) {
    const subscribed = names.flatMap((name) => this.#topics.get(name) ?? [])
    if (subscribed.length === 0) return
    const envelope = JSON.stringify({ type, payload })
    const publication = { offset: null, type, payload, envelope, messageId: null }
    for (const topic of subscribed) topic.broadcast(publication, onlyFor)
  }

  /** Compares all topics with the database, in one statement, and fetches what was missed. */
  async reconcile(now = Date.now()) {
    for (const [name, { idleSince }] of this.#topics)
      if (idleSince !== null && now - idleSince > LINGER_MS) this.#topics.delete(name)
    const positions = [...this.#topics.values()].flatMap(
      ({ name, position }): [string, number][] => (position === null ? [] : [[name, position]]),
    )
    if (positions.length === 0) return
    for (const { topic, top } of await this.log.ahead(positions)) this.hear(topic, top)
  }

  /** Ends the user's subscriptions that he has no right to any more. */
  async recheck({ appId, userId }: { appId: string; userId: string }, names: string[]) {
    if (names.length === 0) return
    const grants = await this.log.admit(
      names.map((topic) => ({ appId, userId, topic, since: null })),
    )
    for (const [index, name] of names.entries())
      if (!grants[index]) this.#topics.get(name)?.endFor(userId, 'no longer allowed')
  }

  get epoch() {
    return this.#epoch
  }

  #join(subscriber: Subscriber, request: TopicRequest): Joining {
    const topic =
      this.#topics.get(request.topic) ??
      new Topic(request.topic, this.told.metrics, (delivery) => this.#delivered(delivery))
    this.#topics.set(request.topic, topic)
    const asked = request.recover?.epoch === this.#epoch ? request.recover.offset : null
    const remembered = asked === null ? undefined : topic.after(asked)
    const since = remembered === undefined ? asked : topic.position
    return {
      request,
      asked,
      remembered: remembered ?? [],
      since,
      subscription: new Subscription(topic, subscriber),
    }
  }

  #settle(
    { request, asked, remembered, since, subscription }: Joining,
    grant: SubscribeGrant,
  ): Subscribed | null {
    if (!grant) {
      this.#leave(subscription)
      return null
    }
    const { top, epoch, missed } = grant
    this.#epoch = epoch
    const isWhole =
      request.recover?.epoch === epoch &&
      asked !== null &&
      since !== null &&
      asked <= top &&
      missed.length === top - since
    subscription.topic.begin(top)
    for (const publication of missed) if (isWhole) subscription.topic.accept(publication)
    if (subscription.topic.hasHole) this.#mend(subscription.topic)
    return {
      subscription,
      position: { epoch, offset: isWhole ? asked : top },
      wasRecovered: isWhole,
      publications: isWhole ? [...remembered, ...missed] : [],
      release: () => subscription.release(top),
    }
  }

  #leave(subscription: Subscription) {
    subscription.leave()
    if (subscription.topic.isEmpty && subscription.topic.position === null)
      this.#topics.delete(subscription.topic.name)
  }

  /** What a user is told in his own topic of his channels has consequences elsewhere. */
  #delivered(delivery: Delivery) {
    const { type } = delivery.publication
    if (type !== 'channel.added' && type !== 'channel.removed') return
    const user = parseTopic(delivery.topic)
    const { event } = delivery
    if (user?.kind !== 'user') return
    this.told.onOwn(user, event)
    // He is to hear it in the channel's topic too, which ends his subscription.
    const channel =
      event.type === 'channel.removed'
        ? this.#topics.get(topicNames.channel(user.appId, event.payload.channelId))
        : undefined
    if (channel && channel.position !== null) this.#mend(channel)
  }

  #mend(topic: Topic) {
    this.#behind.add(topic)
    if (this.#isMending) return
    this.#isMending = true
    setImmediate(() => void this.#mendAll())
  }

  async #mendAll() {
    try {
      while (this.#behind.size > 0) await this.#mendSome()
    } catch (error) {
      // The next reconciliation tries again.
      this.#behind.clear()
      this.told.report(error, 'could not read missed events')
    } finally {
      this.#isMending = false
    }
  }

  async #mendSome() {
    const topics = [...this.#behind].slice(0, TOPICS_A_READ)
    for (const topic of topics) this.#behind.delete(topic)
    const before = new Map(topics.map((topic) => [topic.name, topic.position ?? 0]))
    const rows = await this.log.read([...before])
    this.told.metrics.holes.inc(rows.length)
    const firsts = new Map<string, number>()
    for (const { topic: name, ...publication } of rows) {
      if (!firsts.has(name)) firsts.set(name, publication.offset)
      this.#topics.get(name)?.accept(publication)
    }
    for (const topic of topics) {
      const first = firsts.get(topic.name)
      if (first !== undefined && first > (topic.position ?? 0) + 1) this.#restart(topic)
      else if (topic.hasHole && topic.position !== before.get(topic.name)) this.#behind.add(topic)
    }
  }

  /** What is missing is no longer kept: its subscribers have to begin anew. */
  #restart(topic: Topic) {
    this.#topics.delete(topic.name)
    topic.endAll('insufficient state')
  }
}

type Joining = {
  request: TopicRequest
  asked: number | null
  remembered: DurablePublication[]
  since: number | null
  subscription: Subscription
}

/** A user hears channels of his app, as far as he may read them, and his own topic. */
function isOwn(name: string, { appId, userId }: { appId: string; userId: string }) {
  const topic = parseTopic(name)
  return (
    topic !== null && topic.appId === appId && (topic.kind === 'chat' || topic.userId === userId)
  )
}
