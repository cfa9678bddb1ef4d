import { type Envelope, limits, parseTopic, topics as topicNames } from '@parley/contract'
import type { StoredEvent } from '../core/event-buffer.ts'
import type { Metrics } from '../core/metrics.ts'
import type { UserRef } from '../core/user-ref.ts'
import { Backfill, type GapReason } from './backfill.ts'
import type { EventHint } from './broker/index.ts'
import { inChunks } from './chunks.ts'
import { type FrameBudget, takeFrom } from './credit.ts'
import type { EventLog } from './event-log.ts'
import { isWithinReach, type SubscribeGrant } from './grants.ts'
import type { DurablePublication, OutgoingPublication } from './publication.ts'
import { Subscription, type Topic, type TopicSubscriber } from './topic/index.ts'
import type { PendingSubscribe, Subscribed, TopicRequest } from './topic/subscribed.ts'
import { timeDelivery } from './topic/time-delivery.ts'
import { Topics, type TopicsOptions } from './topic/topics.ts'

/** How long to wait for an out-of-order publication before reading the log. */
const REORDER_MS = 25
/** How many topics are compared or checked before other work gets the event loop. */
const TOPICS_PER_TURN = 1_000

type HubOptions = TopicsOptions & {
  metrics: TopicsOptions['metrics'] & Pick<Metrics, 'gapsFilled' | 'deliverySeconds'>
  report: (error: unknown, problem: string) => void
  /** Called when a user's own topic has delivered that they gained or lost a channel. */
  onChannelsChanged: (user: UserRef, event: Envelope) => void
}

/**
 * Delivers each durable event of a topic to each of its subscriptions on this node exactly once and
 * in order, whatever is lost or reordered on the way here: offsets give the order, and what is
 * missing is read from the log.
 */
export class Hub {
  readonly topics: Topics
  readonly #backfill: Backfill
  #epoch = ''

  constructor(
    readonly log: EventLog,
    readonly options: HubOptions,
  ) {
    this.topics = new Topics(options, (outgoing) => this.#onDelivered(outgoing))
    this.#backfill = new Backfill({
      log,
      metrics: options.metrics,
      report: options.report,
      topicOf: (name) => this.topics.get(name),
      onUnrecoverable: (topic) => this.topics.reset(topic),
    })
  }

  async start() {
    this.#epoch = await this.log.epoch()
  }

  get epoch() {
    return this.#epoch
  }

  /** Subscribes to topics by one statement; null for a topic that the subscriber may not read. */
  async subscribe(
    subscriber: TopicSubscriber & { appId: string; isGone(): boolean },
    requests: TopicRequest[],
  ): Promise<(Subscribed | null)[]> {
    const { appId, userId, recoveries } = subscriber
    const pending = requests
      .filter(({ topic }) => isWithinReach(topic, { appId, userId }))
      .map((request) => this.#join(subscriber, request))
    if (pending.length === 0) return requests.map(() => null)
    try {
      const own = { appId, userId, recoveries }
      const grants = await this.log.authorise(
        pending.map(({ request: { topic }, since }) => ({ ...own, topic, since })),
        () => subscriber.isGone(),
      )
      const results = new Map<string, Subscribed | null>()
      const budget = { bytes: limits.answerBytes, recoveries }
      for (const [index, joined] of pending.entries()) {
        results.set(joined.request.topic, this.#settle(joined, grants[index] ?? null, budget))
      }
      return requests.map(({ topic }) => results.get(topic) ?? null)
    } catch (error) {
      for (const { subscription } of pending) this.#leave(subscription)
      throw error
    }
  }

  /** The last offset of each topic; null for a topic that the user may not read. */
  async authorise({ appId, userId }: UserRef, names: string[]): Promise<SubscribeGrant[]> {
    if (!names.every((topic) => isWithinReach(topic, { appId, userId })))
      return names.map(() => null)
    return this.log.authorise(names.map((topic) => ({ appId, userId, topic, since: null })))
  }

  /** Accepts events that this node has committed. */
  publish(events: StoredEvent[]) {
    const committed = { at: performance.now(), origin: 'own' as const }
    for (const { topic: name, ...publication } of events) {
      const topic = this.topics.get(name)
      if (topic) this.#accept(topic, { ...publication, committed })
    }
  }

  /** Accepts a hint of an event that another node has committed. */
  receive({ topic: name, offset, event }: Pick<EventHint, 'topic' | 'offset' | 'event'>) {
    if (!event) return this.handleHint(name, offset)
    const topic = this.topics.get(name)
    if (!topic) return
    const { at, ...content } = event
    // The clocks of nodes may differ.
    const ageMs = Math.max(0, Date.now() - at)
    const committed = { at: performance.now() - ageMs, origin: 'other' as const }
    this.#accept(topic, { ...content, offset, committed })
  }

  /** Notes that an event with this offset is in the log. */
  handleHint(name: string, offset: number, reason: GapReason = 'hint') {
    const topic = this.topics.get(name)
    topic?.recordOffset(offset)
    if (topic?.hasGap) this.#backfill.fillGap(topic, reason)
  }

  /** Sends an ephemeral event to topics: serialised once, and only if one has a subscriber here. */
  broadcast(names: string[], { type, payload }: Envelope, onlyFor?: string | undefined) {
    const subscribed = names.flatMap((name) => this.topics.get(name) ?? [])
    if (subscribed.length === 0) return
    const envelope = JSON.stringify({ type, payload })
    const publication = { offset: null, type, payload, envelope, messageId: null }
    for (const topic of subscribed) topic.broadcast(publication, onlyFor)
  }

  /**
   * Forgets remembered events that were rewritten in the log, from which clients that reconnect get
   * them now.
   */
  forgetEvents(name: string) {
    this.topics.get(name)?.forgetEvents()
  }

  /** Compares all topics with the database, some at a time, and fills their gaps. */
  async reconcile(now = performance.now()) {
    this.topics.removeIdle(now)
    const offsets: [string, number][] = []
    for (const { name, deliveredOffset } of this.topics.all()) {
      if (deliveredOffset !== null) offsets.push([name, deliveredOffset])
    }
    for (const some of inChunks(offsets, TOPICS_PER_TURN)) {
      for (const { topic, lastOffset } of await this.log.findAdvanced(some)) {
        this.handleHint(topic, lastOffset, 'missed')
      }
    }
  }

  /** Ends the user's subscriptions to topics that they may no longer read. */
  async recheck({ appId, userId }: UserRef, names: string[]) {
    for (const some of inChunks(names, TOPICS_PER_TURN)) {
      const requests = some.map((topic) => ({ appId, userId, topic, since: null }))
      // Those that begin meanwhile read rights of their own, which may be newer.
      const known = some.map((topic) => this.topics.get(topic)?.subscriptions.of(userId) ?? [])
      const grants = await this.log.authorise(requests)
      for (const [index, subscriptions] of known.entries()) {
        if (grants[index]) continue
        for (const subscription of subscriptions) subscription.end('no longer allowed')
      }
    }
  }

  /** A publication that comes too early waits for those before it, which may be on their way. */
  #accept(topic: Topic, publication: DurablePublication) {
    topic.accept(publication)
    if (!topic.hasGap) return
    setTimeout(() => {
      if (topic.hasGap) this.#backfill.fillGap(topic, 'reorder')
    }, REORDER_MS)
  }

  /** Joins before the database is queried, so that deliveries are buffered in the meantime. */
  #join(subscriber: TopicSubscriber, request: TopicRequest): PendingSubscribe {
    const topic = this.topics.open(request.topic)
    const after = request.recover?.epoch === this.#epoch ? request.recover.offset : null
    const isForgotten = after === null || subscriber.recoveries.isUsedUp
    const remembered = isForgotten ? undefined : topic.after(after)
    return {
      request,
      after,
      remembered: remembered ?? [],
      since: remembered === undefined ? after : topic.deliveredOffset,
      subscription: new Subscription(topic, subscriber),
    }
  }

  #settle(
    { request, after, remembered, since, subscription }: PendingSubscribe,
    grant: SubscribeGrant,
    budget: FrameBudget,
  ): Subscribed | null {
    if (!grant) {
      this.#leave(subscription)
      return null
    }
    const { lastOffset, epoch, missed } = grant
    const { topic } = subscription
    this.#epoch = epoch
    const isComplete =
      request.recover?.epoch === epoch &&
      after !== null &&
      since !== null &&
      after <= lastOffset &&
      missed.length === lastOffset - since &&
      takeFrom(budget, { remembered, missed })
    topic.start(lastOffset)
    if (isComplete) {
      for (const publication of missed) topic.accept(publication)
    }
    if (topic.hasGap) this.#backfill.fillGap(topic, 'subscribe')
    return {
      subscription,
      position: { epoch, offset: isComplete ? after : lastOffset },
      wasRecovered: isComplete,
      publications: isComplete ? [...remembered, ...missed] : [],
      release: () => subscription.release(lastOffset),
    }
  }

  #leave(subscription: Subscription) {
    subscription.leave()
    const { topic } = subscription
    if (topic.isEmpty && topic.deliveredOffset === null) this.topics.remove(topic)
  }

  /** Reacts to channel.added and channel.removed in a user's own topic. */
  #onDelivered(outgoing: OutgoingPublication) {
    if (!this.topics.get(outgoing.topic)?.isEmpty) timeDelivery(outgoing, this.options.metrics)
    const { type } = outgoing.publication
    if (type !== 'channel.added' && type !== 'channel.removed') return
    const user = parseTopic(outgoing.topic)
    if (user?.kind !== 'user') return
    const { event } = outgoing
    this.options.onChannelsChanged(user, event)
    if (event.type !== 'channel.removed') return
    // The channel's own topic holds a channel.member_left, which ends the user's subscription.
    const channelTopic = topicNames.channel(user.appId, event.payload.channelId)
    const channel = this.topics.get(channelTopic)
    if (channel && channel.deliveredOffset !== null) this.#backfill.fillGap(channel, 'hint')
  }
}
