import { type DurablePublication, eventOf } from './publication.ts'

const MOST_ENTRIES = 256
const MOST_CHARACTERS = 256 * 1024
/** Even if the note of an erasure is lost, names that it removed are sent no longer than this. */
const MOST_AGE_MS = 5 * 60_000

type Kept = DurablePublication & {
  keptAt: number
  /** The message that it quotes; undefined until the first deletion asks for it. */
  quotedId?: string | null
}

/** Parses each publication once at most, and none in a topic in which nothing is deleted. */
function quotedIdOf(kept: Kept) {
  if (kept.quotedId === undefined) kept.quotedId = findQuotedId(kept)
  return kept.quotedId
}
function findQuotedId(kept: Kept) {
  if (kept.type !== 'message.new' && kept.type !== 'message.updated') return null
  const { payload } = eventOf(kept)
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
  add({ offset, type, envelope, messageId }: DurablePublication) {
    const publication = { offset, type, envelope, messageId, keptAt: performance.now() }
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
    // Events that quote it are read from the database again, where its text is gone.
    if (this.#kept.some((kept) => quotedIdOf(kept) === messageId)) return this.clear()
    this.#kept = this.#kept.map((kept) =>
      messageId !== null && kept.messageId === messageId ? { ...kept, type, envelope } : kept,
    )
    this.#characters = this.#kept.reduce((sum, kept) => sum + kept.envelope.length, 0)
  }
}
