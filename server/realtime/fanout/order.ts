import { createLru } from '../../core/lru.ts'
import type { Announcer, Fanout } from '../broker/index.ts'

/** How many subjects are remembered with their last announcement. */
const ENTRIES = 10_000
/** How long the offsets of channels are remembered: a restored database has lower ones. */
const OFFSETS_MS = 60_000

/** The last announcement of a subject, and the highest number received from each node. */
type Received = { last: Announcer | undefined; numbers: Map<string, number> }

/**
 * Finds the newest fan-out of a subject. Nodes look up recipients at their own pace and notes
 * overtake each other, so a fan-out may arrive after a newer one of another node, or before its
 * announcement.
 */
export class FanoutOrder {
  readonly #received = createLru<Received>({ entries: ENTRIES })
  readonly #offsets = createLru<number>({ entries: ENTRIES, ttl: OFFSETS_MS })

  /** Notes that a fan-out about this subject follows, from its announcer or from each node. */
  record(subject: string, announcer: Announcer | undefined) {
    const received = this.#received.get(subject) ?? { last: undefined, numbers: new Map() }
    if (announcer && (received.numbers.get(announcer.id) ?? 0) >= announcer.number) return
    if (announcer) received.numbers.set(announcer.id, announcer.number)
    received.last = announcer
    this.#received.set(subject, received)
  }

  /** Whether this announcement was received, and a newer one after it. */
  isFollowed(subject: string, announcer: Announcer | undefined) {
    const received = this.#received.get(subject)
    if (received === undefined) return false
    const { last, numbers } = received
    if (!announcer) return last !== undefined
    const isLast = last?.id === announcer.id && last.number === announcer.number
    return !isLast && (numbers.get(announcer.id) ?? 0) >= announcer.number
  }

  /**
   * Whether another node has announced a newer fan-out, or one with a higher offset was sent. Those
   * of one announcer arrive in order.
   */
  isOutdated({ subject, offset, announcer }: Fanout) {
    if (offset !== undefined) return this.wasLaterSent(subject, offset)
    const last = this.#received.get(subject)?.last
    return last?.id !== announcer?.id && this.isFollowed(subject, announcer)
  }

  /** Notes that this fan-out was sent to the users of this node. */
  sent({ subject, offset, announcer }: Fanout) {
    if (offset !== undefined) this.#offsets.set(subject, offset)
    else if (announcer) this.record(subject, announcer)
  }

  /** Whether a later event of a channel than this one was sent. */
  wasLaterSent(subject: string, offset: number) {
    return offset < (this.#offsets.get(subject) ?? 0)
  }
}
