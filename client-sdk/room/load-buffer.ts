import type { ChannelState } from './state.ts'

/** A change that arrived during a load. */
export type BufferedChange = (state: ChannelState) => ChannelState

/** Buffers the changes that arrive during a load, to be applied to its result. */
export class LoadBuffer {
  #changes: BufferedChange[] = []
  #recordings = 0

  add(change: BufferedChange) {
    if (this.#recordings > 0) this.#changes.push(change)
  }

  /** Buffers changes until `halt()`. */
  recordChanges() {
    const start = this.#changes.length
    this.#recordings += 1
    return {
      changes: () => this.#changes.slice(start),
      halt: () => {
        this.#recordings -= 1
        if (this.#recordings === 0) this.#changes = []
      },
    }
  }
}
