import { createLru } from '../../core/lru.ts'
import { type Db, isStatementTimeout } from '../../db/client.ts'
import { withTimeLimit } from '../../db/time-limit.ts'
import type { DirtyChannels } from '../dirty-channels.ts'
import type { Reach } from '../fanout/reach.ts'
import { type ConnectedCount, selectCountsOfChannels } from './counts.ts'

/** About how many counts one statement reads. */
const COUNTS_PER_STATEMENT = 10_000
/** How many counts a channel is assumed to have if it had no more the last time. */
const FEW_COUNTS = 50

type CounterOptions = { db: Db; nodeId: string }
type StatementOptions = { reach: Reach; withinMs?: number | undefined }
type CountOptions = { reach: Reach; onCounted: OnCounted }
/** Called with what a statement has read. */
type OnCounted = (counts: ConnectedCount[]) => Promise<void>

/** Counts channels by statements of limited size. */
export class UnreadCounter {
  /** How many counts each channel had the last time, if more than a few. */
  readonly #sizes = createLru<number>({ entries: 10_000 })

  constructor(readonly options: CounterOptions) {}

  /**
   * Counts these channels; those that are done leave them. Ends at a statement that takes too long,
   * and returns its channels, which leave as well.
   */
  async count(dirty: DirtyChannels, { reach, onCounted }: CountOptions): Promise<DirtyChannels> {
    for (const some of this.#chunksOf(dirty.ids())) {
      const counts = await this.read(some, { reach }).catch(timedOut)
      if (!counts) return dirty.take(some)
      await onCounted(counts)
      dirty.take(some)
    }
    return dirty.take([])
  }

  /** Counts channels by one statement, which may be given less time than others. */
  async read(channelIds: string[], { reach, withinMs }: StatementOptions) {
    const counted = { channelIds, nodeId: reach === 'forAll' ? null : this.options.nodeId }
    const counts = await this.options.db.use((db) =>
      withTimeLimit(db, withinMs, () => selectCountsOfChannels(db, counted)),
    )
    this.#recordSizes(channelIds, counts)
    return counts
  }

  #chunksOf(channelIds: string[]) {
    const chunks: string[][] = []
    let size = Number.POSITIVE_INFINITY
    for (const channelId of channelIds) {
      const added = this.#sizes.get(channelId) ?? FEW_COUNTS
      size += added
      if (size > COUNTS_PER_STATEMENT) {
        chunks.push([])
        size = added
      }
      chunks.at(-1)?.push(channelId)
    }
    return chunks
  }

  #recordSizes(channelIds: string[], counts: ConnectedCount[]) {
    for (const channelId of channelIds) this.#sizes.delete(channelId)
    const sizes = new Map<string, number>()
    for (const { channelId } of counts) sizes.set(channelId, (sizes.get(channelId) ?? 0) + 1)
    for (const [channelId, size] of sizes) {
      if (size > FEW_COUNTS) this.#sizes.set(channelId, size)
    }
  }
}

const timedOut = (error: unknown) => {
  if (!isStatementTimeout(error)) throw error
}
