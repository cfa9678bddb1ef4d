import type { Channel } from '../types.ts'

/** A record as the server knows it, and as it is shown. */
type ShownRecord = { known: Channel; shown: Channel }
/** `count`: how many calls that mark the channel as read are not answered. */
type PendingRead = { count: number; record: ShownRecord | undefined }

/**
 * The channels that the user is marking as read. They are shown without unread messages until the
 * server says how many are left, or refuses.
 */
export class PendingReads {
  readonly #pending = new Map<string, PendingRead>()

  start(channelId: string) {
    const { count, record } = this.#pending.get(channelId) ?? { count: 0, record: undefined }
    this.#pending.set(channelId, { count: count + 1, record })
  }

  end(channelId: string) {
    const { count = 0, record } = this.#pending.get(channelId) ?? {}
    if (count > 1) this.#pending.set(channelId, { count: count - 1, record })
    else this.#pending.delete(channelId)
  }

  showAll<Listed extends { channel: Channel }>(listed: Listed[]): Listed[] {
    return listed.map((each) => ({ ...each, channel: this.show(each.channel) }))
  }

  /** A record as it is shown; the same object until it changes. */
  show(known: Channel): Channel {
    const pending = this.#pending.get(known.id)
    if (known.unreadCount === 0 || !pending) return known
    if (pending.record?.known !== known)
      pending.record = { known, shown: { ...known, unreadCount: 0 } }
    return pending.record.shown
  }
}
