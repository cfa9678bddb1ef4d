import { DirtyChannels } from '../dirty-channels.ts'
import type { Reach } from '../fanout/reach.ts'
import type { UnreadCounter } from './counter.ts'
import type { ConnectedCount } from './counts.ts'
import { SlowReads } from './slow-reads.ts'

/**
 * How long a channel is skipped. Counted for all nodes it may be long, since each node counts it
 * for its own users.
 */
const LEFT_OUT_MS = { forAll: 60_000, forOwn: 8_000 }

type SlowCountsOptions = {
  pauseMs: number
  counter: UnreadCounter
  /** Called with the counts that a statement has read, and the changes that caused it. */
  onCounted: (counts: ConnectedCount[], changes: DirtyChannels) => void
  report: (error: unknown, problem: string) => void
}

/**
 * Counts channels whose statement took too long, apart from all others. One that takes too long
 * alone is counted for the users of this node only: the other nodes find the change when they
 * compare with the database. One that takes too long even for them is counted later.
 */
export class SlowCounts {
  readonly #dirty = { forAll: new DirtyChannels(), forOwn: new DirtyChannels() }
  readonly #reads: Record<Reach, SlowReads>

  constructor(readonly options: SlowCountsOptions) {
    this.#reads = { forAll: this.#readsOf('forAll'), forOwn: this.#readsOf('forOwn') }
  }

  /** Takes over the changes of channels that are slow. */
  takeFrom(changes: DirtyChannels, reach: Reach) {
    const slow = changes.take(changes.ids().filter((id) => this.#isSlow(id)))
    for (const [id, change] of slow.entries()) {
      const countable = this.#reads[reach].isLeftOut(id) ? 'forOwn' : reach
      this.#dirty[countable].mark(id, change)
      this.#reads[countable].schedule()
    }
  }

  #isSlow(channelId: string) {
    return this.#reads.forAll.has(channelId) || this.#reads.forOwn.has(channelId)
  }

  /** Takes over the channels of a statement that took too long. */
  add(reach: Reach, channels: DirtyChannels) {
    this.#dirty[reach].add(channels)
    this.#reads[reach].add(channels.ids())
  }

  async stop() {
    await Promise.all([this.#reads.forAll.stop(), this.#reads.forOwn.stop()])
  }

  #readsOf(reach: Reach) {
    const { pauseMs, counter, onCounted, report } = this.options
    const dirty = this.#dirty[reach]
    return new SlowReads({
      pauseMs,
      leftOutMs: LEFT_OUT_MS[reach],
      due: () => dirty.ids(),
      read: async (ids, withinMs) => {
        const channels = dirty.take(ids)
        try {
          onCounted(await counter.read(ids, { reach, withinMs }), channels)
        } catch (error) {
          dirty.add(channels)
          throw error
        }
      },
      onLeftOut: (id, cause) => {
        const who = reach === 'forAll' ? 'all servers' : 'this server'
        const problem = `Counting for ${who} takes too long in channel ${id}`
        report(new Error(problem, { cause }), 'unread count failed')
        if (reach === 'forAll') this.#countForOwn(dirty.take([id]))
      },
      report,
    })
  }

  #countForOwn(channels: DirtyChannels) {
    this.#dirty.forOwn.add(channels)
    this.#reads.forOwn.schedule()
  }
}
