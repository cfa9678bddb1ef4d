import type { ChannelOffset } from '../queries.ts'

/** The last event of each channel that was counted, to find the changes that were missed. */
export class CountedOffsets {
  #offsets = new Map<string, number>()
  /** Those counted since the last comparison: the next one may have been looked up before. */
  #since = new Map<string, number>()

  add(channelId: string, offset: number) {
    const last = Math.max(offset, this.#offsets.get(channelId) ?? 0)
    this.#offsets.set(channelId, last)
    this.#since.set(channelId, last)
  }

  /** The changes that were not counted. Channels without recent changes are dropped from memory. */
  compare(recent: ChannelOffset[]): ChannelOffset[] {
    const counted = this.#offsets
    const missed = recent.filter(({ channelId, offset }) => offset > (counted.get(channelId) ?? 0))
    this.#offsets = this.#since
    this.#since = new Map()
    for (const { channelId } of recent) {
      const offset = counted.get(channelId)
      if (offset !== undefined) this.#offsets.set(channelId, offset)
    }
    return missed
  }

  clear() {
    this.#offsets = new Map()
    this.#since = new Map()
  }
}
