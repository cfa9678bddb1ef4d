/** The changes in a channel since it was counted. */
export type ChannelChange = {
  /** The offset of the channel's last event. */
  offset: number
  /**
   * The author, if there was only one: their own count does not change. Null if there were several.
   */
  author: string | null
  /**
   * A message was deleted. Clients may have loaded a count that was never sent, between the message
   * and its deletion: the count is sent even if it is the last one again.
   */
  isDeletion: boolean
}

/** Channels to count. */
export class DirtyChannels {
  readonly #changes = new Map<string, ChannelChange>()

  get size() {
    return this.#changes.size
  }

  ids() {
    return [...this.#changes.keys()]
  }

  entries() {
    return this.#changes.entries()
  }

  get(channelId: string) {
    return this.#changes.get(channelId)
  }

  mark(channelId: string, change: ChannelChange) {
    const known = this.#changes.get(channelId)
    this.#changes.set(channelId, known ? joined(known, change) : change)
  }

  /** Removes these channels, and returns them. */
  take(channelIds: string[]) {
    const taken = new DirtyChannels()
    for (const channelId of channelIds) {
      const change = this.#changes.get(channelId)
      if (change) taken.mark(channelId, change)
      this.#changes.delete(channelId)
    }
    return taken
  }

  add(other: DirtyChannels) {
    for (const [channelId, change] of other.#changes) this.mark(channelId, change)
  }
}

/** Merges two changes of one channel. */
export const joined = (one: ChannelChange, other: ChannelChange): ChannelChange => ({
  offset: Math.max(one.offset, other.offset),
  author: one.author === other.author ? one.author : null,
  isDeletion: one.isDeletion || other.isDeletion,
})

/** An event of a channel that may change counts. */
export type CountedEvent = {
  offset: number
  author?: string | null | undefined
  isDeletion?: boolean
}

export const changeOf = ({ offset, author = null, isDeletion = false }: CountedEvent) => ({
  offset,
  author,
  isDeletion,
})
