import { createLru } from '../core/lru.ts'
import { type Db, isStatementTimeout } from '../db/client.ts'
import { inChunks } from './chunks.ts'
import type { DirtyChannels } from './dirty-channels.ts'
import { type ConnectedCount, selectCountsOfChannels } from './unread-counts.ts'

/** About how many counts one statement reads. */
const COUNTS_PER_STATEMENT = 10_000
/** How many counts a channel is taken to have if the last time it had no more. */
const FEW_COUNTS = 50

type CounterOptions = { db: Db }
/** `nodeId`: the node whose users to count for; null means all nodes. */
type CountOptions = { nodeId: string | null; onCounted: OnCounted }
/** Called with what a statement has read. */
type OnCounted = (counts: ConnectedCount[]) => Promise<void>

/** Counts channels by statements of limited size. */
export class UnreadCounter {
  /** How many counts channels had the last time, if not a few. */
  readonly #sizes = createLru<number>({ entries: 10_000 })
  /** Channels whose statement took too long: until it works they are counted alone, and last. */
  readonly #slow = new Set<string>()

  constructor(readonly options: CounterOptions) {}

  /**
   * Counts these channels; those that are done leave them. If a statement takes too long, it is
   * tried in halves after the others. Returns why a single channel took too long, if one did.
   */
  async count(dirty: DirtyChannels, options: CountOptions): Promise<unknown> {
    const pending = this.#chunksOf(dirty.ids())
    let failure: unknown
    for (let some = pending.shift(); some; some = pending.shift()) {
      try {
        await this.#countSome(some, options)
        dirty.done(some)
      } catch (error) {
        if (!isStatementTimeout(error)) throw error
        if (some.length > 1) pending.push(...inChunks(some, Math.ceil(some.length / 2)))
        else {
          failure = error
          for (const channelId of some) this.#slow.add(channelId)
        }
      }
    }
    return failure
  }

  async #countSome(channelIds: string[], { nodeId, onCounted }: CountOptions) {
    const { db } = this.options
    const counts = await db.use((db) => selectCountsOfChannels(db, { nodeId, channelIds }))
    this.#recordSizes(channelIds, counts)
    await onCounted(counts)
    for (const channelId of channelIds) this.#slow.delete(channelId)
  }

  #chunksOf(channelIds: string[]) {
    const chunks: string[][] = []
    let size = Number.POSITIVE_INFINITY
    for (const channelId of channelIds) {
      if (this.#slow.has(channelId)) continue
      const added = this.#sizes.get(channelId) ?? FEW_COUNTS
      size += added
      if (size > COUNTS_PER_STATEMENT) {
        chunks.push([])
        size = added
      }
      chunks.at(-1)?.push(channelId)
    }
    const slow = channelIds.filter((channelId) => this.#slow.has(channelId))
    return [...chunks, ...slow.map((channelId) => [channelId])]
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
