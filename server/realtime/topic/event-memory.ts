import type { Metrics } from '../../core/metrics.ts'

/** A topic that keeps events in memory. The log has them too. */
type EventKeeper = { forgetEvents(): void }

type EventMemoryOptions = {
  /** How many bytes all topics of this node may keep. */
  mostBytes: number
  metrics: Pick<Metrics, 'eventMemory' | 'topicsEvicted'>
}

/** The memory that the topics of this node share. The least recently used ones are evicted. */
export class EventMemory {
  /** Least recently used first. */
  readonly #bytesOf = new Map<EventKeeper, number>()
  #bytes = 0

  constructor(readonly options: EventMemoryOptions) {}

  /** Notes that a topic was used, and how many bytes it keeps now. */
  use(keeper: EventKeeper, bytes: number) {
    this.#bytes += bytes - (this.#bytesOf.get(keeper) ?? 0)
    this.#bytesOf.delete(keeper)
    if (bytes > 0) this.#bytesOf.set(keeper, bytes)
    this.#evict()
    this.options.metrics.eventMemory.set(this.#bytes)
  }

  #evict() {
    for (const keeper of this.#bytesOf.keys()) {
      if (this.#bytes <= this.options.mostBytes) return
      keeper.forgetEvents()
      this.options.metrics.topicsEvicted.inc()
    }
  }
}
