import { createLru } from '../core/lru.ts'
import type { News } from './broker.ts'

/** Of how many subjects it is known which news are the newest. */
const ENTRIES = 10_000
/** For how long the offsets of channels are known: a database that was restored has lower ones. */
const OFFSETS_MS = 60_000

/**
 * Which news this node has heard of last. Nodes look up whom to tell at their own pace, so news may
 * be told after newer ones of another node.
 */
export class NewestNews {
  readonly #tellers = createLru<{ teller: string | undefined }>({ entries: ENTRIES })
  readonly #offsets = createLru<number>({ entries: ENTRIES, ttl: OFFSETS_MS })

  /** News of this subject will be told, by this node or by each for its own users. */
  announced(subject: string, teller: string | undefined) {
    this.#tellers.set(subject, { teller })
  }

  /** Whether newer news have been announced by another node, or told if they have an offset. */
  isOutdated({ subject, offset, teller }: News) {
    if (offset !== undefined) return offset < (this.#offsets.get(subject) ?? 0)
    const last = this.#tellers.get(subject)
    return last !== undefined && last.teller !== teller
  }

  told({ subject, offset }: News) {
    if (offset !== undefined) this.#offsets.set(subject, offset)
  }

  /** Whether this event of a channel, or one after it, was told. */
  wasTold(subject: string, offset: number) {
    return offset <= (this.#offsets.get(subject) ?? 0)
  }
}
