import { memoize } from '../equality.ts'
import type { Channel } from '../types.ts'

/**
 * The channels that the user is marking as read. They are shown without unread messages until the
 * server says how many are left, or refuses.
 */
export class PendingReads {
  /** By channel: how many calls that mark it as read are not answered. */
  readonly #pending = new Map<string, number>()

  start(channelId: string) {
    this.#pending.set(channelId, (this.#pending.get(channelId) ?? 0) + 1)
  }

  end(channelId: string) {
    const count = this.#pending.get(channelId) ?? 0
    if (count > 1) this.#pending.set(channelId, count - 1)
    else this.#pending.delete(channelId)
  }

  showAll<Listed extends { channel: Channel }>(listed: Listed[]): Listed[] {
    return listed.map((each) => ({ ...each, channel: this.show(each.channel) }))
  }

  /** A record as it is shown; the same object until it changes. */
  show(known: Channel): Channel {
    return known.unreadCount > 0 && this.#pending.has(known.id) ? asRead(known) : known
  }
}

const asRead = /* @__PURE__ */ memoize(
  (channel: Channel): Channel => ({ ...channel, unreadCount: 0 }),
)
