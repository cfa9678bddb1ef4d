import { limits } from '@parley/contract'
import type { Codec } from '../protocol/codec.ts'

/** The memory that a frame takes beside its bytes. */
const FRAME_BYTES = 256
export const memoryOf = (frame: Buffer) => Math.max(FRAME_BYTES, frame.length)

/** The part of a socket's frames that is not decoded yet: at most the size of one frame. */
export class FrameQueue {
  readonly #frames: { messages: Iterator<Buffer, void>; bytes: number }[] = []
  #bytes = 0

  constructor(readonly codec: Pick<Codec, 'split'>) {}

  /** Returns whether the frame has content, and there was room for it. */
  push(frame: Buffer) {
    if (frame.length === 0) return false
    const bytes = memoryOf(frame)
    this.#bytes += bytes
    if (this.#bytes > limits.realtime.frameBytes) return false
    this.#frames.push({ messages: this.codec.split(frame), bytes })
    return true
  }

  /** The next message, undecoded. Throws if the frame is malformed there. */
  next(): Buffer | undefined {
    for (;;) {
      const [first] = this.#frames
      if (!first) return undefined
      const { value } = first.messages.next()
      if (value) {
        const bytes = Math.min(value.length, first.bytes)
        first.bytes -= bytes
        this.#bytes -= bytes
        return value
      }
      this.#frames.shift()
      this.#bytes -= first.bytes
    }
  }

  clear() {
    this.#frames.length = 0
  }
}
