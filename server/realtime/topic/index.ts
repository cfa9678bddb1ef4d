import type { Metrics } from '../../core/metrics.ts'
import type { Recoveries } from '../credit.ts'
import { type DurablePublication, OutgoingPublication, type Publication } from '../publication.ts'
import { EarlyPublications } from './early-publications.ts'
import { RecentEvents } from './recent-events.ts'
import { Subscriptions } from './subscriptions.ts'

/** How many ephemeral publications may wait for a gap. With one more, all are sent. */
const HELD_ENTRIES = 1_000

/** A character of a string takes one or two bytes. */
const BYTES_PER_CHARACTER = 2

/**
 * An ephemeral publication that waits until everything up to the offset `after` is delivered. It
 * goes only to subscriptions that existed when it came: later ones have loaded newer state.
 */
type HeldPublication = { outgoing: OutgoingPublication; after: number; to: Subscription[] }

export type TopicOptions = {
  metrics: Pick<Metrics, 'deliveries'>
  /** Called with each durable publication, after its subscriptions have received it. */
  onDelivered: (outgoing: OutgoingPublication) => void
  /** Called when the topic was used, with the bytes of events it keeps. */
  onKept: (topic: Topic, bytes: number) => void
}

/**
 * A topic with subscriptions on this node. It puts its durable publications in strict order and
 * remembers the last ones, for clients that reconnect.
 */
export class Topic {
  /** Everything up to this offset was delivered; null until the database has returned an offset. */
  deliveredOffset: number | null = null
  /** When the last subscription left. */
  idleSince: number | null = null
  readonly openedAt = performance.now()
  readonly subscriptions = new Subscriptions<Subscription>()
  readonly #early = new EarlyPublications()
  /** Ephemeral publications that came during a gap, in order, and their length. */
  #held: HeldPublication[] = []
  #heldCharacters = 0
  /** The highest offset known to exist. */
  #lastOffset = 0
  readonly #recent = new RecentEvents()

  constructor(
    readonly name: string,
    readonly options: TopicOptions,
  ) {}

  /** Whether a publication is known that has not been delivered yet. */
  get hasGap() {
    return this.deliveredOffset !== null && this.#lastOffset > this.deliveredOffset
  }

  get isEmpty() {
    return this.subscriptions.size === 0
  }

  join(subscription: Subscription) {
    this.subscriptions.add(subscription)
    this.idleSince = null
  }

  leave(subscription: Subscription) {
    if (this.subscriptions.delete(subscription) && this.isEmpty) this.idleSince = performance.now()
  }

  has(subscription: Subscription) {
    return this.subscriptions.has(subscription)
  }

  /** Takes the last offset in the database. At the first call, delivery begins after it. */
  start(lastOffset: number) {
    this.deliveredOffset ??= lastOffset
    this.recordOffset(lastOffset)
    this.#deliverEarly()
    this.#account()
  }

  /** Notes that a publication with this offset exists. */
  recordOffset(offset: number) {
    this.#lastOffset = Math.max(this.#lastOffset, offset)
  }

  /** Drops a durable publication that was delivered, delivers the next one, keeps a later one. */
  accept(publication: DurablePublication) {
    const { offset } = publication
    this.recordOffset(offset)
    if (this.deliveredOffset !== null && offset <= this.deliveredOffset) return
    if (this.deliveredOffset !== null && offset === this.deliveredOffset + 1)
      this.#deliver(publication)
    else this.#early.add(publication)
    this.#deliverEarly()
    this.#account()
  }

  /**
   * Sends an ephemeral publication, but not ahead of durable ones that are known to exist: it may
   * depend on them, as when a channel is deleted that the user was just added to.
   */
  broadcast(publication: Publication, onlyFor?: string | undefined) {
    const outgoing = new OutgoingPublication(this.name, publication, onlyFor)
    if (!this.hasGap) return this.#send(outgoing)
    if (this.#held.length >= HELD_ENTRIES) this.#sendHeld(this.#lastOffset)
    this.#held.push({ outgoing, after: this.#lastOffset, to: [...this.subscriptions.of(onlyFor)] })
    this.#heldCharacters += publication.envelope.length
    this.#account()
  }

  /** The delivered publications after `offset`; undefined unless all of them are remembered. */
  after(offset: number): DurablePublication[] | undefined {
    if (this.deliveredOffset === null || offset > this.deliveredOffset) return undefined
    this.#account()
    return this.#recent.last(this.deliveredOffset - offset)
  }

  /**
   * Frees the memory of its publications. Durable ones are read from the log again when they are
   * needed; ephemeral ones are sent now.
   */
  forgetEvents() {
    this.#recent.clear()
    this.#early.clear()
    this.#sendHeld(this.#lastOffset)
    this.#account()
  }

  endAll(reason: EndReason) {
    for (const subscription of this.subscriptions) subscription.end(reason)
  }

  #deliverEarly() {
    if (this.deliveredOffset === null) return
    let next = this.#early.get(this.deliveredOffset + 1)
    while (next) {
      this.#deliver(next)
      next = this.#early.get(this.deliveredOffset + 1)
    }
    this.#early.dropUpTo(this.deliveredOffset)
  }

  #deliver(publication: DurablePublication) {
    this.deliveredOffset = publication.offset
    this.#recent.add(publication)
    const outgoing = new OutgoingPublication(this.name, publication)
    this.#send(outgoing)
    this.options.onDelivered(outgoing)
    this.#sendHeld(publication.offset)
  }

  /** Sends what waits for offsets up to this one; the list is ordered by these offsets. */
  #sendHeld(offset: number) {
    const end = this.#held.findIndex(({ after }) => after > offset)
    const due = this.#held.splice(0, end === -1 ? this.#held.length : end)
    for (const { outgoing, to } of due) {
      this.#heldCharacters -= outgoing.publication.envelope.length
      // Subscriptions that have ended meanwhile ignore it.
      for (const subscription of to) subscription.receive(outgoing)
    }
  }

  #send(outgoing: OutgoingPublication) {
    for (const subscription of this.subscriptions.of(outgoing.onlyFor))
      subscription.receive(outgoing)
  }

  #account() {
    const characters = this.#recent.characters + this.#early.characters + this.#heldCharacters
    this.options.onKept(this, characters * BYTES_PER_CHARACTER)
  }
}

/** Receives the publications of a topic: a WebSocket connection, or a tRPC subscription. */
export interface TopicSubscriber {
  readonly id: string
  readonly userId: string
  readonly recoveries: Recoveries
  deliver(outgoing: OutgoingPublication): void
  /** Called when the server has ended the subscription. */
  subscriptionEnded(topic: string, reason: EndReason): void
}

/**
 * The user lost the right to read, or the log no longer reaches back far enough. In the second case
 * the client may subscribe again.
 */
export type EndReason = 'no longer allowed' | 'insufficient state'

/**
 * A subscriber's subscription to a topic. It buffers deliveries until `release` says where to
 * go on, so nothing is lost or duplicated between the query for past publications and live
 * delivery.
 */
export class Subscription {
  #deliveredOffset = 0
  #buffered: OutgoingPublication[] | null = []

  constructor(
    readonly topic: Topic,
    readonly subscriber: TopicSubscriber,
  ) {
    topic.join(this)
  }

  receive(outgoing: OutgoingPublication) {
    if (this.#buffered) this.#buffered.push(outgoing)
    else this.#deliver(outgoing)
  }

  /** Starts live delivery after this offset; the subscriber has everything up to it. */
  release(deliveredOffset: number) {
    const buffered = this.#buffered ?? []
    this.#deliveredOffset = deliveredOffset
    this.#buffered = null
    for (const outgoing of buffered) this.#deliver(outgoing)
  }

  /** Whether its right was read, so that it receives what the topic delivers. */
  get isGranted() {
    return this.#buffered === null
  }

  get isOver() {
    return !this.topic.has(this)
  }

  leave() {
    this.topic.leave(this)
  }

  end(reason: EndReason) {
    if (this.isOver) return
    this.leave()
    this.subscriber.subscriptionEnded(this.topic.name, reason)
  }

  #deliver(outgoing: OutgoingPublication) {
    if (this.isOver) return
    const { offset } = outgoing.publication
    if (offset !== null) {
      if (offset <= this.#deliveredOffset) return
      this.#deliveredOffset = offset
    }
    this.subscriber.deliver(outgoing)
    this.topic.options.metrics.deliveries.inc()
    if (outgoing.ends(this.subscriber.userId)) this.end('no longer allowed')
  }
}
