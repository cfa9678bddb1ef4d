import { limits } from '@parley/contract'
import { parseTRPCMessage } from '@trpc/server/rpc'
import { memoryOf } from './connection/frame-queue.ts'

const { frameBytes, topicsPerSocket } = limits.realtime

/** As many of the protocol's own take as long as a subscription of tRPC. */
const COMMANDS_PER_MESSAGE = 4

/** What tRPC's adapter is passed at once, and the commands that it counts as. */
export type Piece = { data: Buffer; isBinary: boolean; cost: number }

/** What tRPC's adapter has not got yet of a socket's frames: at most as much as one may hold. */
export class TrpcFrames {
  #frames: Piece[] = []
  /** The other messages of the frame whose first one was passed on. */
  #messages: Buffer[] = []
  #bytes = 0

  /** Returns whether there was room for it. */
  push(frame: Piece) {
    this.#bytes += memoryOf(frame.data)
    if (this.#bytes > frameBytes) return false
    this.#frames.push(frame)
    return true
  }

  /** The first message of a frame costs as much as the frame, which is parsed for it. */
  next(): Piece | undefined {
    const message = this.#messages.shift()
    if (message) {
      this.#bytes -= memoryOf(message)
      return { data: message, isBinary: false, cost: COMMANDS_PER_MESSAGE }
    }
    const frame = this.#frames.shift()
    if (!frame) return undefined
    this.#bytes -= memoryOf(frame.data)
    const [data = frame.data, ...others] = frame.isBinary ? [] : messagesIn(frame.data)
    this.#messages = others
    for (const other of others) this.#bytes += memoryOf(other)
    return { ...frame, data, cost: Math.max(COMMANDS_PER_MESSAGE, frame.cost) }
  }

  clear() {
    this.#frames = []
    this.#messages = []
    this.#bytes = 0
  }
}

const unchanged = (value: unknown) => value
const plain = { serialize: unchanged, deserialize: unchanged }

/**
 * The messages of a batch. None of what is no batch, or of one that the adapter refuses: it gets
 * that as a whole, and says why.
 */
function messagesIn(frame: Buffer) {
  const text = frame.toString()
  if (!text.trimStart().startsWith('[')) return []
  try {
    const messages: unknown[] = JSON.parse(text)
    if (messages.length > topicsPerSocket) return []
    return messages.map((message) => {
      parseTRPCMessage(message, { input: plain, output: plain })
      return Buffer.from(JSON.stringify(message))
    })
  } catch {
    return []
  }
}
