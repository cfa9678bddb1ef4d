import type { Channel, UserEvents } from '../generated/types.ts'
import { keepIfEqual } from '../shared/equality.ts'
import { createStore, type Store, setIfChanged, type WritableStore } from '../shared/store.ts'
import { PendingReads } from './pending-reads.ts'

/** Unread messages: the total, and by channel for those that lists show or rooms watch. */
export type Unread = {
  /** In all of the user's channels. */
  total: number
  /**
   * By their ids, of the channels that a list shows or that are watched. Other channels may be
   * missing: watch `room.info` of a channel whose count you need.
   */
  byChannel: Readonly<Record<string, number>>
}

/** The total in a response, if the request asked for it. */
export type Total = { totalUnread?: number | undefined; totalUnreadVersion?: number | undefined }

/** The counts of unread messages as the server knows them, less what the user is reading. */
export class UnreadCounts {
  readonly pendingReads = new PendingReads()
  readonly #store: WritableStore<Unread>
  /** Unread messages in all channels: the server's last total, and what counts changed since. */
  total = 0
  /** The last total of the server. */
  #lastTotal = 0
  /** The version of the last total. */
  version = 0

  constructor(options: { onError: (error: unknown) => void }) {
    this.#store = createStore<Unread>({ total: 0, byChannel: {} }, options)
  }

  get store(): Store<Unread> {
    return this.#store
  }

  /** Takes the total of an event: unless it is older, it includes the counts that came before. */
  takeEvent({ count, version }: UserEvents['channel.total_unread_changed']) {
    this.total = this.#lastTotal
    this.take({ totalUnread: count, totalUnreadVersion: version })
  }

  /** Takes a total, unless it is older. Servers of earlier versions send no version. */
  take({ totalUnread, totalUnreadVersion = 0 }: Total) {
    if (totalUnread === undefined || (totalUnreadVersion && totalUnreadVersion < this.version))
      return
    this.version = totalUnreadVersion
    this.total = this.#lastTotal = totalUnread
  }

  redraw(channels: Iterable<Channel>) {
    let { total } = this
    const counts: Record<string, number> = {}
    for (const channel of channels) {
      const { id, unreadCount } = this.pendingReads.show(channel)
      counts[id] = unreadCount
      total -= channel.unreadCount - unreadCount
    }
    const byChannel = keepIfEqual(this.#store.getSnapshot().byChannel, counts)
    setIfChanged(this.#store, { total: Math.max(0, total), byChannel })
  }
}
