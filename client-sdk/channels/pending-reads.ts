import type { Channel } from '../generated/types.ts'
import { memoize } from '../shared/equality.ts'

/**
 * The channels that the user is marking as read. They are shown without unread messages until the
 * server says how many are left, or refuses.
 */
export class PendingReads {
  /** The channel of each call that marks one as read and is not answered yet. */
  readonly #pending: string[] = []

  begin(channelId: string) {
    this.#pending.push(channelId)
  }

  end(channelId: string) {
    this.#pending.splice(this.#pending.indexOf(channelId), 1)
  }

  /** A record as it is shown; the same object until it changes. */
  show(known: Channel): Channel {
    return known.unreadCount > 0 && this.#pending.includes(known.id) ? asRead(known) : known
  }
}

const asRead = /* @__PURE__ */ memoize(
  (channel: Channel): Channel => ({ ...channel, unreadCount: 0 }),
)
