import { type DurablePublication, eventOf } from '../publication.ts'

const MOST_ENTRIES = 256
const MOST_CHARACTERS = 256 * 1024
/** Even if the note of an erasure is lost, names that it removed are sent no longer than this. */
const MOST_AGE_MS = 5 * 60_000

type Kept = DurablePublication & {
  keptAt: number
  /** The message that it quotes; undefined as long as nothing has asked for it. */
  quotedId: string | null | undefined
}

/** Publications of other nodes are parsed once, if something is deleted in their topic. */
const withQuotedId = (kept: Kept) =>
  kept.quotedId === undefined ? { ...kept, quotedId: quotedIdIn(kept) } : kept

function quotedIdIn(publication: DurablePublication) {
  const { type } = publication
  if (type !== 'message.new' && type !== 'message.updated') return null
  const { payload } = eventOf(publication)
  return 'message' in payload ? (payload.message.quotedMessage?.id ?? null) : null
}

/** The last publications of a topic, for clients that reconnect. */
export class RecentEvents {
  #kept: Kept[] = []
  #characters = 0

  /** The length of their envelopes. */
  get characters() {
    return this.#characters
  }

  /** Keeps a publication without its payload, which would double its size. */
  add(given: DurablePublication) {
    const { offset, type, envelope, messageId } = given
    const quotedId = given.payload && quotedIdIn(given)
    const publication = { offset, type, envelope, messageId, quotedId, keptAt: performance.now() }
    if (type === 'message.deleted') this.#replaceByTombstone(publication)
    this.#kept.push(publication)
    this.#characters += envelope.length
    while (this.#kept.length > MOST_ENTRIES || this.#characters > MOST_CHARACTERS) {
      this.#characters -= this.#kept.shift()?.envelope.length ?? 0
    }
  }

  /** The last `count` of them; undefined if not all are kept, or one for too long. */
  last(count: number): DurablePublication[] | undefined {
    if (count > this.#kept.length) return undefined
    const wanted = this.#kept.slice(this.#kept.length - count)
    const oldest = wanted[0]?.keptAt ?? Number.POSITIVE_INFINITY
    return performance.now() - oldest > MOST_AGE_MS ? undefined : wanted
  }

  clear() {
    this.#kept = []
    this.#characters = 0
  }

  /** As in the database, the earlier events of a deleted message become its tombstone. */
  #replaceByTombstone({ messageId, type, envelope }: DurablePublication) {
    if (messageId === null) return
    const known = this.#kept.map(withQuotedId)
    // Events that quote it are read from the database again, where its text is gone.
    if (known.some(({ quotedId }) => quotedId === messageId)) return this.clear()
    this.#kept = known.map((kept) =>
      kept.messageId === messageId ? { ...kept, type, envelope, quotedId: null } : kept,
    )
    this.#characters = this.#kept.reduce((sum, kept) => sum + kept.envelope.length, 0)
  }
}
