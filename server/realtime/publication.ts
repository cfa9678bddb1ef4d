import type { Envelope } from '@parley/contract'

/** An event as a topic carries it. `envelope` is the event as JSON, the form in which it is sent. */
export type Publication = {
  /** Null for an ephemeral event. */
  offset: number | null
  type: Envelope['type']
  envelope: string
  messageId: string | null
  /** Present in the process that made the event; others parse the envelope where they need it. */
  payload?: Envelope['payload'] | undefined
}
export type DurablePublication = Publication & { offset: number }

/** The only place that parses envelopes. */
export const eventOf = ({
  type,
  payload,
  envelope,
}: Pick<Publication, 'type' | 'payload' | 'envelope'>): Envelope =>
  payload === undefined ? JSON.parse(envelope) : ({ type, payload } as Envelope) // of one event

/** The two encodings of frames. */
export type Framing = 'json' | 'protobuf'
/** Encodes a push in one of them. */
export type PushEncoder = {
  framing: Framing
  encodePush(channel: string, publication: Publication): Buffer
}

/** A publication on its way to a topic's subscriptions: encoded once for each framing, and parsed at most once. */
export class Delivery {
  readonly #frames: { [F in Framing]?: Buffer } = {}
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

  in(codec: PushEncoder): Buffer {
    const encoded = this.#frames[codec.framing] ?? codec.encodePush(this.topic, this.publication)
    this.#frames[codec.framing] = encoded
    return encoded
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
