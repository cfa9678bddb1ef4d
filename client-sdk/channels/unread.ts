import { keepIfEqual } from '../equality.ts'
import { createStore, type Store, setIfChanged, type WritableStore } from '../store.ts'
import type { Channel } from '../types.ts'
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

/** The counts of unread messages as the server knows them, less what the user is reading. */
export class UnreadCounts {
  readonly pendingReads = new PendingReads()
  readonly #store: WritableStore<Unread>
  /** Unread messages in all channels, as the server counts them. */
  total = 0
  /**
   * How many totals were requested, or came in events, and which of them is the newest that came.
   * Totals have no version: the answer to an earlier request is older.
   */
  #requested = 0
  #newest = 0

  constructor(options: { onError: (error: unknown) => void }) {
    this.#store = createStore<Unread>({ total: 0, byChannel: {} }, options)
  }

  get store(): Store<Unread> {
    return this.#store
  }

  /** An event has brought the total. */
  applyTotal(total: number) {
    this.startRequest()(total)
  }

  /** Call before requesting the total; returns a function that takes it, if the response has it. */
  startRequest() {
    const request = ++this.#requested
    return (total?: number) => {
      if (total !== undefined && request >= this.#newest) {
        this.#newest = request
        this.total = total
      }
    }
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
