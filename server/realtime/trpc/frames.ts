import { limits } from '@parley/contract'
import { parseTRPCMessage } from '@trpc/server/rpc'
import { isObject } from '../../core/json-text.ts'
import { memoryOf } from '../connection/frame-queue.ts'

const { frameBytes, topicsPerSocket } = limits.realtime

/** A tRPC message costs as much as this many commands of the protocol, at most. */
export const COMMANDS_PER_MESSAGE = 8
/** A subscription as JSON has two or three objects: itself, its parameters and its input. */
const OBJECTS_PER_COMMAND = 3
const BYTES_PER_COMMAND = 1024

/** A frame, or one message of a batch. */
type TrpcFrame = { data: Buffer; isBinary: boolean }

/**
 * Frames of a socket that tRPC's adapter has not received yet, at most as many bytes as one frame.
 * Many sockets share the event loop, so a frame is not even parsed before its turn.
 */
export class TrpcFrames {
  #frames: TrpcFrame[] = []
  /** The remaining messages of the frame whose first one was passed on. */
  #messages: Buffer[] = []
  #bytes = 0

  /** Returns whether there was room for it. */
  push(frame: TrpcFrame) {
    this.#bytes += memoryOf(frame.data)
    if (this.#bytes > frameBytes) return false
    this.#frames.push(frame)
    return true
  }

  /**
   * The next frame for the adapter. It is parsed only if `pay` returns that its commands are paid
   * for.
   */
  next(pay: (commands: number) => boolean): TrpcFrame | undefined {
    const message = this.#messages.shift()
    if (message) {
      this.#bytes -= memoryOf(message)
      return { data: message, isBinary: false }
    }
    const frame = this.#frames.shift()
    if (!frame) return undefined
    this.#bytes -= memoryOf(frame.data)
    if (!pay(costOf(frame.data))) return undefined
    const [data = frame.data, ...others] = frame.isBinary ? [] : messagesIn(frame.data)
    this.#messages = others
    for (const other of others) this.#bytes += memoryOf(other)
    return { ...frame, data }
  }

  clear() {
    this.#frames = []
    this.#messages = []
    this.#bytes = 0
  }
}

/** Estimates the commands in a frame before it is parsed, by its objects and its length. */
function costOf(frame: Buffer) {
  let openers = 0
  // By index, because the iterator of a buffer is several times slower.
  for (let index = 0; index < frame.length; index++) {
    const byte = frame[index]
    if (byte === 0x7b || byte === 0x5b) openers += 1
  }
  return Math.max(1, openers / OBJECTS_PER_COMMAND + frame.length / BYTES_PER_COMMAND)
}

const unchanged = (value: unknown) => value
const plain = { serialize: unchanged, deserialize: unchanged }

/**
 * The messages of a batch; none if the frame is no batch, or one that the adapter refuses: it gets
 * that whole, and says why. Of a batch with too many messages, only as many as it answers.
 */
function messagesIn(frame: Buffer) {
  const text = frame.toString()
  if (!text.trimStart().startsWith('[')) return []
  try {
    const messages: unknown[] = JSON.parse(text)
    if (messages.length > topicsPerSocket) return [tooMany(messages)]
    return messages.map((message) => {
      parseTRPCMessage(message, { input: plain, output: plain })
      return Buffer.from(JSON.stringify(message))
    })
  } catch {
    return []
  }
}

/**
 * A batch that is still refused for its length, without the messages that have no id to be answered
 * by.
 */
const tooMany = (messages: unknown[]) => {
  const answered = messages.filter(isObject)
  const others = Array.from({ length: topicsPerSocket + 1 - answered.length }, () => 0)
  return Buffer.from(JSON.stringify([...answered, ...others]))
}
