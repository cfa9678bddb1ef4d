import type { Envelope, TopicInput } from '@parley/contract'
import { ApiError, fail } from '../core/errors.ts'
import type { Claims } from '../core/tokens.ts'
import type { RealtimeNode } from './node.ts'
import { type Closing, closings } from './protocol/codes.ts'
import { type Delivery, eventOf } from './publication.ts'
import type { Session } from './sessions.ts'
import type { Ending, Subscriber } from './topic.ts'

/** An envelope with the offset of the last durable one, itself or before it. */
export type Item = { offset: number; envelope: Envelope }

/** What one who listens may leave unread before he is cut off. */
const MOST_WAITING = 2_000

/** The publications of one topic as an async iterable: the thin second face of the hub, for tRPC. */
export async function* subscribeToTopic(
  node: RealtimeNode,
  {
    token,
    topic,
    since,
    lastEventId,
    signal,
  }: TopicInput & { token: string; signal: AbortSignal | undefined },
): AsyncGenerator<Item> {
  const claims = await node.tokens.verify('ws', token)
  if (claims === 'expired' || claims === 'invalid')
    return fail('INVALID_TOKEN', `The wsToken is ${claims}`)
  const feed = new Feed(claims, topic)
  const expiry = setTimeout(
    () => feed.close(closings.expired),
    claims.expiresAt * 1000 - Date.now() + node.timings.expiryGraceMs,
  )
  const stop = () => feed.close(closings.shutdown)
  signal?.addEventListener('abort', stop)
  try {
    if ((await node.arrived(feed)) !== claims.generation)
      return fail('INVALID_TOKEN', 'The wsToken has been revoked')
    const after = lastEventId === undefined ? since : Number(lastEventId)
    const [subscribed] = await node.hub.subscribe(feed, [
      { topic, recover: after === undefined ? null : { epoch: node.hub.epoch, offset: after } },
    ])
    if (!subscribed) return fail('FORBIDDEN', 'There is no such topic, or not for you')
    try {
      if (after !== undefined && !subscribed.wasRecovered)
        return fail(
          'VALIDATION_ERROR',
          'since: expected an offset of which everything that followed is still kept',
        )
      let { offset } = subscribed.position
      for (const publication of subscribed.publications) {
        offset = publication.offset
        yield { offset, envelope: eventOf(publication) }
      }
      subscribed.release()
      for await (const delivery of feed.read()) {
        offset = delivery.publication.offset ?? offset
        yield { offset, envelope: delivery.event }
      }
    } finally {
      subscribed.subscription.leave()
    }
  } finally {
    clearTimeout(expiry)
    signal?.removeEventListener('abort', stop)
    node.left(feed)
  }
}

class Feed implements Subscriber, Session {
  readonly appId: string
  readonly userId: string
  readonly generation: number
  readonly topics: string[]
  #waiting: Delivery[] = []
  #end: ApiError | undefined
  #wake = () => {}

  constructor({ appId, userId, generation }: Claims, topic: string) {
    this.appId = appId
    this.userId = userId
    this.generation = generation
    this.topics = [topic]
  }

  hear(delivery: Delivery) {
    if (this.#waiting.push(delivery) > MOST_WAITING) this.close(closings.slow)
    this.#wake()
  }

  ended(_: string, ending: Ending) {
    this.#finish(
      new ApiError(
        ending === 'no longer allowed' ? 'FORBIDDEN' : 'UNAVAILABLE',
        `The subscription has ended: ${ending}`,
      ),
    )
  }

  close({ code, reason }: Closing) {
    this.#finish(
      new ApiError(
        code === closings.forced.code || code === closings.expired.code
          ? 'INVALID_TOKEN'
          : 'UNAVAILABLE',
        `The connection was closed: ${reason}`,
      ),
    )
  }

  /** What is heard, until the end, which it throws. */
  async *read() {
    while (true) {
      const deliveries = this.#waiting
      this.#waiting = []
      yield* deliveries
      if (this.#waiting.length > 0) continue
      if (this.#end) throw this.#end
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  #finish(failure: ApiError) {
    this.#end ??= failure
    this.#wake()
  }
}
