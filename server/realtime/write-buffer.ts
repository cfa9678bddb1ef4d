import type { Codec } from './protocol/codec.ts'

/** Something with messages to be written at the end of the tick. */
export interface Writer {
  write(writeBuffer: WriteBuffer): void
}

/** Gathers what all sockets have to write in a tick, so that each is written to once, and equal frames are made once. */
export class WriteBuffer {
  #writers: Writer[] = []
  #last: { codec: Codec; messages: readonly Buffer[]; frame: Buffer } | undefined

  add(writer: Writer) {
    if (this.#writers.push(writer) === 1) setImmediate(() => this.#flush())
  }

  /** Subscribers of the same topics have the same messages to hear: the frame of the one before is used again. */
  frame(codec: Codec, messages: readonly Buffer[]): Buffer {
    const [first] = messages
    if (messages.length === 1 && first) return first
    const last = this.#last
    if (last && last.codec === codec && isSame(last.messages, messages)) return last.frame
    const frame = codec.join(messages)
    this.#last = { codec, messages, frame }
    return frame
  }

  #flush() {
    const writers = this.#writers
    this.#writers = []
    for (const writer of writers) writer.write(this)
    this.#last = undefined
  }
}

const isSame = (a: readonly Buffer[], b: readonly Buffer[]) =>
  a.length === b.length && a.every((message, place) => message === b[place])
