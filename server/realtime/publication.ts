/** What is published to a topic. A null `offset`: ephemeral. */
export type Publication = { offset: number | null; envelope: string; messageId: string | null }
export type DurablePublication = Publication & { offset: number }

/** The two ways that frames are written. */
export type Framing = 'json' | 'protobuf'
/** Writes a push in one of them. */
export type PushEncoder = {
  framing: Framing
  encodePush(channel: string, publication: Publication): Buffer
}

/** A publication on its way to the subscriptions of a topic: encoded once a framing, however many they are. */
export class Delivery {
  readonly #frames: { [F in Framing]?: Buffer } = {}
  /** Whose subscriptions end with this publication. */
  readonly #ends: { userId: string } | 'all' | null

  constructor(
    readonly topic: string,
    readonly publication: Publication,
    /** The only user to hear of it, if that is said. */
    readonly onlyFor?: string | undefined,
  ) {
    this.#ends = publication.offset === null ? null : endsOf(publication.envelope)
  }

  in(codec: PushEncoder): Buffer {
    const encoded = this.#frames[codec.framing] ?? codec.encodePush(this.topic, this.publication)
    this.#frames[codec.framing] = encoded
    return encoded
  }

  ends(userId: string) {
    return this.#ends !== null && (this.#ends === 'all' || this.#ends.userId === userId)
  }
}

function endsOf(envelope: string) {
  if (envelope.startsWith('{"type":"channel.deleted"')) return 'all'
  if (!envelope.startsWith('{"type":"channel.member_left"')) return null
  const { payload } = JSON.parse(envelope) as { payload: { userId: string } } // written by News
  return { userId: payload.userId }
}
