import { createLru } from '../core/lru.ts'
import type { News, Teller } from './broker.ts'

/** How many subjects are remembered with their newest news. */
const ENTRIES = 10_000
/** For how long the offsets of channels are known: a database that was restored has lower ones. */
const OFFSETS_MS = 60_000

/** The last announcement of a subject, and the highest number heard of each node. */
type Heard = { last: Teller | undefined; numbers: Map<string, number> }

/**
 * Which news this node has heard of last. Nodes look up whom to tell at their own pace, and notes
 * overtake each other: news may be told after newer ones of another node, or before they are
 * announced.
 */
export class NewestNews {
  readonly #heard = createLru<Heard>({ entries: ENTRIES })
  readonly #offsets = createLru<number>({ entries: ENTRIES, ttl: OFFSETS_MS })

  /** News of this subject will be told, by this node or by each for its own users. */
  announced(subject: string, teller: Teller | undefined) {
    const heard = this.#heard.get(subject) ?? { last: undefined, numbers: new Map() }
    if (teller && (heard.numbers.get(teller.id) ?? 0) >= teller.number) return
    if (teller) heard.numbers.set(teller.id, teller.number)
    heard.last = teller
    this.#heard.set(subject, heard)
  }

  /** Whether these news were announced, and newer ones after them. */
  isFollowed(subject: string, teller: Teller | undefined) {
    const heard = this.#heard.get(subject)
    if (heard === undefined) return false
    const { last, numbers } = heard
    if (!teller) return last !== undefined
    const isLast = last?.id === teller.id && last.number === teller.number
    return !isLast && (numbers.get(teller.id) ?? 0) >= teller.number
  }

  /**
   * Whether another teller has announced newer news, or later ones with an offset were told.
   * Those of one teller come in their order.
   */
  isOutdated({ subject, offset, teller }: News) {
    if (offset !== undefined) return this.wasLaterTold(subject, offset)
    const last = this.#heard.get(subject)?.last
    return last?.id !== teller?.id && this.isFollowed(subject, teller)
  }

  told({ subject, offset, teller }: News) {
    if (offset !== undefined) this.#offsets.set(subject, offset)
    else if (teller) this.announced(subject, teller)
  }

  /** Whether a later event of a channel than this one was told. */
  wasLaterTold(subject: string, offset: number) {
    return offset < (this.#offsets.get(subject) ?? 0)
  }
}
