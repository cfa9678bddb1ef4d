import { createLru } from '../../core/lru.ts'
import type { ChannelCounts } from '../broker/index.ts'
import { changeOf, type DirtyChannels } from '../dirty-channels.ts'

/** How many channels counted by other nodes are remembered. */
const ENTRIES = 10_000
/** For how many pauses a channel that another node has counted is taken to be busy there. */
const BUSY_PAUSES = 20

/**
 * Channels that other nodes count as well, for the users of all nodes. Thanks to this, a channel
 * that is busy on many nodes is counted about as often as one that is busy on one.
 */
export class CountedElsewhere {
  readonly #countedAt = createLru<number>({ entries: ENTRIES })
  /** Channels that waited in the last run: they do not wait again. */
  #waited = new Set<string>()

  constructor(readonly pauseMs: number) {}

  /** Another node has counted a channel: changes up to that count are not counted again. */
  record({ channelId, offset, author, isDeletion }: ChannelCounts, dirty: DirtyChannels) {
    this.#countedAt.set(channelId, performance.now())
    const own = dirty.get(channelId)
    if (!own || own.offset > offset) return
    // The author and deletions decide who is sent a count that has not changed.
    const isSame = author === null || author === own.author
    if (isSame && (isDeletion || !own.isDeletion)) dirty.take([channelId])
  }

  /** Takes out the channels that another node has counted within a pause, once each. */
  takeWaiting(dirty: DirtyChannels): DirtyChannels {
    const since = performance.now() - this.pauseMs
    const isRecent = (id: string) => (this.#countedAt.get(id) ?? since) > since
    const waiting = dirty.ids().filter((id) => isRecent(id) && !this.#waited.has(id))
    this.#waited = new Set(waiting)
    return dirty.take(waiting)
  }

  /** Other nodes may rely on this count for their own changes, which may have other authors. */
  markShared(dirty: DirtyChannels) {
    const since = performance.now() - BUSY_PAUSES * this.pauseMs
    for (const [id, { offset }] of [...dirty.entries()])
      if ((this.#countedAt.get(id) ?? since) > since) dirty.mark(id, changeOf({ offset }))
  }
}
