import type { Delivery } from './publication.ts'
import type { Topic } from './topic.ts'

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
