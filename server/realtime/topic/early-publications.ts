import type { DurablePublication } from '../publication.ts'

/** How many are kept. Further ones are read from the log. */
const MOST_ENTRIES = 1_000

/** Durable publications of a topic that arrived before one of a lower offset. */
export class EarlyPublications {
  /** Created with the first entry, since most topics never have any. */
  #byOffset: Map<number, DurablePublication> | undefined
  #characters = 0

  /** The length of their envelopes. */
  get characters() {
    return this.#characters
  }

  add(publication: DurablePublication) {
    this.#byOffset ??= new Map()
    if (this.#byOffset.size >= MOST_ENTRIES) return
    this.#drop(publication.offset)
    this.#byOffset.set(publication.offset, publication)
    this.#characters += publication.envelope.length
  }

  get(offset: number) {
    return this.#byOffset?.get(offset)
  }

  /** Drops those with an offset of at most `deliveredOffset`: they were delivered. */
  dropUpTo(deliveredOffset: number) {
    for (const offset of this.#byOffset?.keys() ?? []) {
      if (offset <= deliveredOffset) this.#drop(offset)
    }
  }

  clear() {
    this.#byOffset = undefined
    this.#characters = 0
  }

  #drop(offset: number) {
    this.#characters -= this.#byOffset?.get(offset)?.envelope.length ?? 0
    this.#byOffset?.delete(offset)
  }
}
