import type { Metrics } from '../core/metrics.ts'
import { Delivery, type DurablePublication, type Publication } from './publication.ts'

const RING_ENTRIES = 256
const RING_CHARACTERS = 256 * 1024
/** Publications that came before their turn and are kept for it; what is beyond is read again. */
const AHEAD_ENTRIES = 1_000

/** A topic that somebody on this node is subscribed to: puts its durable publications in strict order, and remembers the last ones. */
export class Topic {
  /** Up to here everything was delivered; null until the database has said where the topic stands. */
  position: number | null = null
  /** When the last subscription went. */
  idleSince: number | null = null
  readonly #subscriptions = new Set<Subscription>()
  readonly #ahead = new Map<number, DurablePublication>()
  #known = 0
  #ring: DurablePublication[] = []
  #ringCharacters = 0

  constructor(
    readonly name: string,
    readonly metrics: Pick<Metrics, 'deliveries'>,
    /** Is told of each durable publication, once its subscriptions are. */
    readonly onDelivered: (delivery: Delivery) => void,
  ) {}

  /** Whether something is known to be missing before it can go on. */
  get hasHole() {
    return this.position !== null && this.#known > this.position
  }

  get isEmpty() {
    return this.#subscriptions.size === 0
  }

  join(subscription: Subscription) {
    this.#subscriptions.add(subscription)
    this.idleSince = null
  }

  leave(subscription: Subscription) {
    if (this.#subscriptions.delete(subscription) && this.isEmpty) this.idleSince = Date.now()
  }

  has(subscription: Subscription) {
    return this.#subscriptions.has(subscription)
  }

  /** The database has answered for everything up to `top`. The first answer says where this topic begins. */
  begin(top: number) {
    this.position ??= top
    this.heardOf(top)
    this.#advance()
  }

  /** There is a publication with this offset. */
  heardOf(offset: number) {
    this.#known = Math.max(this.#known, offset)
  }

  /** Takes a durable publication in: dropped if known, delivered if it is its turn, else kept until then. */
  accept(publication: DurablePublication) {
    this.heardOf(publication.offset)
    if (this.position !== null && publication.offset <= this.position) return
    if (this.position !== null && publication.offset === this.position + 1)
      this.#deliver(publication)
    else if (this.#ahead.size < AHEAD_ENTRIES) this.#ahead.set(publication.offset, publication)
    this.#advance()
  }

  /** Sends something that has no place in the order. */
  broadcast(publication: Publication, onlyFor?: string | undefined) {
    this.#send(new Delivery(this.name, publication, onlyFor))
  }

  /** All publications after `offset` up to the position; undefined when they are not all remembered. */
  after(offset: number): DurablePublication[] | undefined {
    if (
      this.position === null ||
      offset > this.position ||
      offset < this.position - this.#ring.length
    )
      return undefined
    return this.#ring.slice(this.#ring.length - (this.position - offset))
  }

  endAll(ending: Ending) {
    for (const subscription of this.#subscriptions) subscription.end(ending)
  }

  endFor(userId: string, ending: Ending) {
    for (const subscription of this.#subscriptions)
      if (subscription.subscriber.userId === userId) subscription.end(ending)
  }

  #advance() {
    if (this.position === null || this.#ahead.size === 0) return
    for (
      let next = this.#ahead.get(this.position + 1);
      next;
      next = this.#ahead.get(this.position + 1)
    )
      this.#deliver(next)
    for (const offset of this.#ahead.keys()) if (offset <= this.position) this.#ahead.delete(offset)
  }

  #deliver(publication: DurablePublication) {
    this.position = publication.offset
    this.#remember(publication)
    const delivery = new Delivery(this.name, publication)
    this.#send(delivery)
    this.onDelivered(delivery)
  }

  #send(delivery: Delivery) {
    for (const subscription of this.#subscriptions) subscription.take(delivery)
  }

  /** Without the payload, which would double what the ring holds. */
  #remember({ offset, type, envelope, messageId }: DurablePublication) {
    const publication = { offset, type, envelope, messageId }
    if (type === 'message.deleted') this.#forgetContent(publication)
    this.#ring.push(publication)
    this.#ringCharacters += envelope.length
    while (this.#ring.length > RING_ENTRIES || this.#ringCharacters > RING_CHARACTERS)
      this.#ringCharacters -= this.#ring.shift()?.envelope.length ?? 0
  }

  /** What was deleted is not told again: as in the database, its earlier events become its tombstone. */
  #forgetContent({ messageId, type, envelope }: DurablePublication) {
    this.#ring = this.#ring.map((kept) =>
      messageId !== null && kept.messageId === messageId ? { ...kept, type, envelope } : kept,
    )
    this.#ringCharacters = this.#ring.reduce((sum, kept) => sum + kept.envelope.length, 0)
  }
}

/** Who hears the publications of a topic: a socket, or a tRPC subscription. */
export interface Subscriber {
  readonly userId: string
  hear(delivery: Delivery): void
  /** The subscription was ended from this side. */
  ended(topic: string, ending: Ending): void
}

/** Lost right, or a history that is no longer kept: the subscriber may then start anew. */
export type Ending = 'no longer allowed' | 'insufficient state'

/**
 * One subscriber's place in a topic. It holds back what it hears until `release` says from where on: so nothing is lost
 * and nothing doubled between the query that answered for the past and live delivery.
 */
export class Subscription {
  #position = 0
  #held: Delivery[] | null = []

  constructor(
    readonly topic: Topic,
    readonly subscriber: Subscriber,
  ) {
    topic.join(this)
  }

  take(delivery: Delivery) {
    if (delivery.onlyFor !== undefined && delivery.onlyFor !== this.subscriber.userId) return
    if (this.#held) this.#held.push(delivery)
    else this.#deliver(delivery)
  }

  /** Everything up to `position` has been answered for; all after it is now delivered. */
  release(position: number) {
    const held = this.#held ?? []
    this.#position = position
    this.#held = null
    for (const delivery of held) this.#deliver(delivery)
  }

  get isOver() {
    return !this.topic.has(this)
  }

  leave() {
    this.topic.leave(this)
  }

  end(ending: Ending) {
    this.leave()
    this.subscriber.ended(this.topic.name, ending)
  }

  #deliver(delivery: Delivery) {
    if (this.isOver) return
    const { offset } = delivery.publication
    if (offset !== null) {
      if (offset <= this.#position) return
      this.#position = offset
    }
    this.subscriber.hear(delivery)
    this.topic.metrics.deliveries.inc()
    if (delivery.ends(this.subscriber.userId)) this.end('no longer allowed')
  }
}
