import type { Channel } from '../types.ts'

/** A record as the server knows it, and as it is shown. */
type ShownRecord = { known: Channel; shown: Channel }

/**
 * The channels that the user is marking as read. They are shown without unread messages until the
 * server says how many are left, or refuses.
 */
export class PendingReads {
  readonly #records = new Map<string, ShownRecord | undefined>()

  start(channelId: string) {
    this.#records.set(channelId, this.#records.get(channelId))
  }

  /** Whether the channel was among them. */
  end(channelId: string) {
    return this.#records.delete(channelId)
  }

  clear() {
    this.#records.clear()
  }

  showAll<Listed extends { channel: Channel }>(listed: Listed[]): Listed[] {
    return listed.map((each) => ({ ...each, channel: this.show(each.channel) }))
  }

  /** A record as it is shown; the same object until it changes. */
  show(known: Channel): Channel {
    if (known.unreadCount === 0 || !this.#records.has(known.id)) return known
    const last = this.#records.get(known.id)
    const record = last?.known === known ? last : { known, shown: { ...known, unreadCount: 0 } }
    this.#records.set(known.id, record)
    return record.shown
  }
}
