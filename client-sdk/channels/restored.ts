import type { ListSnapshotData, ShownChannels } from '../backing-store/snapshot-source.ts'
import type { RestoredList } from '../context.ts'
import type { ChannelList } from './list.ts'
import { startOver } from './start-over.ts'

/** The channels that an earlier page has listed, shown until lists have loaded. */
export class RestoredChannels implements RestoredList {
  /** Their lowest sort key; undefined if none are shown. */
  #from: number | undefined
  #hasEnded = false

  constructor(readonly options: ShownChannels) {}

  show({ listed, totalUnread }: Omit<ListSnapshotData, 'epoch'>) {
    const { channels, lists, unread, refresh } = this.options
    // A list may have loaded without channels, and without a list the total has.
    if (channels.size > 0 || this.#hasLoaded || this.#hasEnded) return
    for (const each of listed) channels.set(each.channel.id, each)
    this.#from = Math.min(...listed.map(({ sortKey }) => sortKey))
    for (const list of lists.values()) this.showIn(list)
    if (!unread.version) unread.total = totalUnread
    refresh()
  }

  showIn(list: Pick<ChannelList, 'restore'>) {
    if (this.#from !== undefined) list.restore(this.#from)
  }

  /** Ends, because the lists have loaded, if there are any. What is read later comes too late. */
  end() {
    this.#from = undefined
    this.#hasEnded = true
  }

  /** Drops them: they are of another epoch, or of another app. */
  drop() {
    if (this.#from === undefined) return
    this.#from = undefined
    startOver(this.options)
  }

  /** The listed channels, for a later page; undefined if no list is up to date. */
  next(): Omit<ListSnapshotData, 'epoch'> | undefined {
    const { channels, unread } = this.options
    if (!this.#hasLoaded) return undefined
    return { listed: [...channels.values()], totalUnread: unread.total }
  }

  get #hasLoaded() {
    return [...this.options.lists.values()].some((list) => list.isReady)
  }
}
