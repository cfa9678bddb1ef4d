import type { Envelope } from '@parley/contract'

/** An event as a topic carries it. `envelope` is the event as JSON, which is what is sent. */
export type Publication = {
  /** Null for an ephemeral event. */
  offset: number | null
  type: Envelope['type']
  envelope: string
  messageId: string | null
  /** Only in the process that made the event; others parse the envelope where they need it. */
  payload?: Envelope['payload'] | undefined
  /** When it was committed, by `performance.now()`, and by whom; only while it is new. */
  committed?: Committed | undefined
}
type Committed = { at: number; origin: 'own' | 'other' }
export type DurablePublication = Publication & { offset: number }

/** The only code in real time that parses envelopes. */
export const eventOf = ({
  type,
  payload,
  envelope,
}: Pick<Publication, 'type' | 'payload' | 'envelope'>): Envelope =>
  payload === undefined ? JSON.parse(envelope) : ({ type, payload } as Envelope) // of one event

/** The two encodings of the protocol, and the two forms of JSON in HTTP streams. */
export type Encoding = 'json' | 'protobuf' | 'json-lines' | 'event-stream'
/** Encodes a push in one of them. */
export type PushEncoder = {
  encoding: Encoding
  encodePush(channel: string, publication: Publication): Buffer
}

/**
 * A publication on its way to a topic's subscriptions: serialised once for each encoding, and
 * parsed at most once.
 */
export class OutgoingPublication {
  readonly #pushes: { [E in Encoding]?: Buffer } = {}
  #event: Envelope | undefined

  constructor(
    readonly topic: string,
    readonly publication: Publication,
    /** The only user who receives it, if set. */
    readonly onlyFor?: string | undefined,
  ) {}

  get event(): Envelope {
    this.#event ??= eventOf(this.publication)
    return this.#event
  }

  /** The push for a subscriber that uses this codec. */
  encode(codec: PushEncoder): Buffer {
    const { encoding } = codec
    const push = this.#pushes[encoding] ?? codec.encodePush(this.topic, this.publication)
    this.#pushes[encoding] = push
    return push
  }

  /** Whether this publication ends the user's subscription to the topic. */
  ends(userId: string) {
    const { offset, type } = this.publication
    if (offset === null) return false
    if (type === 'channel.deleted') return true
    if (type !== 'channel.member_left') return false
    return this.event.type === 'channel.member_left' && this.event.payload.userId === userId
  }
}
