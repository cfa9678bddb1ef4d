import type { ChannelState, TopicEvent } from './reducer.ts'

type Entry = { event?: TopicEvent; apply: (state: ChannelState) => ChannelState }

/** What is heard while something is being loaded: put over what was loaded, it is as if it had been heard afterwards. */
export class Journal {
  #entries: Entry[] = []
  #readers = 0

  note(entry: Entry) {
    if (this.#readers > 0) this.#entries.push(entry)
  }

  /** Keeps what is heard from now on, until it is closed. */
  open() {
    const start = this.#entries.length
    this.#readers += 1
    return {
      heard: () => this.#entries.slice(start),
      close: () => {
        this.#readers -= 1
        if (this.#readers === 0) this.#entries = []
      },
    }
  }
}
