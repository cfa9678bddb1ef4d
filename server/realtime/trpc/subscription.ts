import { randomUUID } from 'node:crypto'
import type { Envelope, TopicInput } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import type { Claims } from '../../core/signed-tokens.ts'
import type { Recoveries } from '../credit.ts'
import type { RealtimeNode } from '../node.ts'
import { type Closing, closings } from '../protocol/codes.ts'
import { eventOf, type OutgoingPublication, type Publication } from '../publication.ts'
import type { Session } from '../sessions.ts'
import { untilExpiry } from '../timings.ts'
import type { EndReason, TopicSubscriber } from '../topic/index.ts'

/** An event, and the offset of the latest durable event (its own, if it is durable). */
type TopicItem = { offset: number; envelope: Envelope }

/** How many deliveries may wait for a subscriber before it is disconnected. */
const MAX_QUEUED = 2_000

type TrpcTopicOptions = {
  token: string
  signal: AbortSignal | undefined
  /** The recoveries of its socket. */
  recoveries: Recoveries
  /** Called with the size of the missed publications, before they are sent. */
  onRecovered: (bytes: number) => void
}

/** Subscribes to one topic for tRPC: its publications as an async iterable. */
export async function* subscribeToTopic(
  node: RealtimeNode,
  {
    token,
    topic,
    since,
    lastEventId,
    signal,
    recoveries,
    onRecovered,
  }: TopicInput & TrpcTopicOptions,
): AsyncGenerator<TopicItem> {
  const claims = await node.tokens.verify('ws', token)
  if ('refusal' in claims) throw new ApiError('INVALID_TOKEN', `The wsToken is ${claims.refusal}`)
  const subscriber = new TrpcSubscriber(claims, { topic, recoveries, signal })
  const expiry = setTimeout(
    () => subscriber.close(closings.expired),
    untilExpiry(claims.expiresAt, node.timings),
  )
  const abort = () => subscriber.close(closings.shutdown)
  signal?.addEventListener('abort', abort)
  try {
    if ((await node.register(subscriber)) !== claims.generation)
      throw new ApiError('INVALID_TOKEN', 'The wsToken has been revoked')
    const after = lastEventId === undefined ? since : Number(lastEventId)
    yield* readTopic(node, { subscriber, topic, after, onRecovered })
  } finally {
    clearTimeout(expiry)
    signal?.removeEventListener('abort', abort)
    node.unregister(subscriber)
  }
}

type TopicReadOptions = Pick<TrpcTopicOptions, 'onRecovered'> & {
  subscriber: TrpcSubscriber
  topic: string
  after: number | undefined
}

async function* readTopic(
  node: RealtimeNode,
  { subscriber, topic, after, onRecovered }: TopicReadOptions,
): AsyncGenerator<TopicItem> {
  const { hub } = node
  const recover = after === undefined ? null : { epoch: hub.epoch, offset: after }
  const [subscribed] = await hub.subscribe(subscriber, [{ topic, recover }])
  if (!subscribed)
    throw new ApiError('FORBIDDEN', 'This topic does not exist, or you may not read it')
  try {
    if (after !== undefined && !subscribed.wasRecovered)
      throw new ApiError('VALIDATION_ERROR', 'since: too old, or too far behind')
    onRecovered(sizeOf(subscribed.publications))
    node.subscribed(subscriber, topic)
    let { offset } = subscribed.position
    for (const publication of subscribed.publications) {
      offset = publication.offset
      yield { offset, envelope: eventOf(publication) }
    }
    subscribed.release()
    for await (const { publication, event } of subscriber.deliveries()) {
      offset = publication.offset ?? offset
      yield { offset, envelope: event }
    }
  } finally {
    subscribed.subscription.leave()
  }
}

/** At most the bytes in which tRPC writes publications: their envelopes, ids and offsets. */
const sizeOf = (publications: Publication[]) =>
  publications.reduce((bytes, { envelope }) => bytes + Buffer.byteLength(envelope) + 500, 0)

class TrpcSubscriber implements TopicSubscriber, Session {
  readonly id = randomUUID()
  readonly appId: string
  readonly userId: string
  readonly generation: number
  readonly topics: string[]
  readonly recoveries: Recoveries
  readonly #signal: AbortSignal | undefined
  #queued: OutgoingPublication[] = []
  #end: ApiError | undefined
  #wake = () => {}

  constructor(
    { appId, userId, generation }: Claims,
    {
      topic,
      recoveries,
      signal,
    }: Pick<TrpcTopicOptions, 'recoveries' | 'signal'> & { topic: string },
  ) {
    this.appId = appId
    this.userId = userId
    this.generation = generation
    this.topics = [topic]
    this.recoveries = recoveries
    this.#signal = signal
  }

  /** A subscription that ended for a reason still says so. */
  readonly isGone = () => this.#signal?.aborted === true

  deliver(outgoing: OutgoingPublication) {
    // A consumer that stopped reading does not leave the topic by itself.
    if (this.#end) return
    if (this.#queued.push(outgoing) > MAX_QUEUED) this.close(closings.slow)
    this.#wake()
  }

  subscriptionEnded(_: string, reason: EndReason) {
    const code = reason === 'no longer allowed' ? 'FORBIDDEN' : 'UNAVAILABLE'
    this.#finish(new ApiError(code, `The subscription has ended: ${reason}`))
  }

  close({ code, reason }: Closing) {
    const isTokenVoid = code === closings.forced.code || code === closings.expired.code
    this.#finish(
      new ApiError(
        isTokenVoid ? 'INVALID_TOKEN' : 'UNAVAILABLE',
        `The connection was closed: ${reason}`,
      ),
    )
  }

  /** Yields deliveries until the subscription ends, then throws why it ended. */
  async *deliveries() {
    while (true) {
      const queued = this.#queued
      this.#queued = []
      yield* queued
      if (this.#queued.length > 0) continue
      if (this.#end) throw this.#end
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #finish(error: ApiError) {
    this.#end ??= error
    this.#wake()
  }
}
