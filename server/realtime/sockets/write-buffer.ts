import type { Codec } from '../protocol/codec.ts'

/** A socket with messages to be written at the end of the tick. */
export interface BufferedSocket {
  flush(writeBuffer: WriteBuffer): void
}

/** Flushes all sockets once a tick: one write for each socket; equal frames are built once. */
export class WriteBuffer {
  #sockets: BufferedSocket[] = []
  #last: { codec: Codec; messages: readonly Buffer[]; frame: Buffer } | undefined

  add(socket: BufferedSocket) {
    if (this.#sockets.push(socket) === 1) setImmediate(() => this.#flush())
  }

  /** Reuses the last frame, because subscribers of the same topics have the same messages. */
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
    const sockets = this.#sockets
    this.#sockets = []
    for (const socket of sockets) socket.flush(this)
    this.#last = undefined
  }
}

const isSame = (a: readonly Buffer[], b: readonly Buffer[]) =>
  a.length === b.length && a.every((message, index) => message === b[index])
