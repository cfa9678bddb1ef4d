import { isChatError } from '../calls/error.ts'
import type { Message, UserApi } from '../generated/types.ts'
import { furtherRead } from '../outbox/fold.ts'

export type ReadResult = Awaited<ReturnType<UserApi['reads']['mark']>>

/** The server stops showing someone as typing after 6 seconds. */
const TYPING_INTERVAL_MS = 3_000
const TYPING_PAUSE_MS = 5_000
const READ_INTERVAL_MS = 500

/** Sends at most one typing call per interval, and one more when typing stops. */
export class ThrottledTyping {
  /** By the monotonic clock; undefined if the others do not see the user typing. */
  #sentAt: number | undefined
  #stopTimer: ReturnType<typeof setTimeout> | undefined
  #lastCall: Promise<unknown> = Promise.resolve()

  constructor(
    readonly api: Pick<UserApi, 'typing'>,
    readonly channelId: string,
  ) {}

  keystroke() {
    const now = performance.now()
    clearTimeout(this.#stopTimer)
    this.#stopTimer = setTimeout(() => this.halt(), TYPING_PAUSE_MS)
    if (this.#sentAt !== undefined && now - this.#sentAt < TYPING_INTERVAL_MS) return
    this.#sentAt = now
    this.#send(true)
  }

  halt() {
    const isShown = this.#sentAt !== undefined
    this.cancel()
    if (isShown) this.#send(false)
  }

  /**
   * Stops without a call, because the connection is lost, and the server notices that by itself.
   */
  cancel() {
    clearTimeout(this.#stopTimer)
    this.#sentAt = undefined
  }

  #send(typing: boolean) {
    const { api, channelId } = this
    // One after another: a start behind its stop would be shown until it expires.
    this.#lastCall = this.#lastCall
      .then(() => api.typing.set({ channelId, typing }))
      .catch(() => {}) // the next keystroke sends it again
  }
}

/** How far a channel was read. Without an id the server's newest message counts as the last. */
type MarkedRead = { messageId: string | undefined; seq: number | undefined }
type ThrottledReadsOptions = {
  isConnected: () => boolean
  /** Whether surely nothing is unread. */
  isRead: () => boolean
  mark: (read: MarkedRead) => Promise<ReadResult>
  /**
   * Finds a message, or without an id the newest one that the user can have seen, if it is loaded.
   */
  find: (messageId: string | undefined) => Pick<Message, 'id' | 'seq'> | undefined
}

/**
 * Merges calls that mark a channel as read: one at a time, and at most one per interval. Without a
 * connection they go to the outbox at once.
 */
export class ThrottledReads {
  /** The call that is not sent yet. */
  #next: { completion: Promise<unknown>; read: MarkedRead } | undefined
  #lastCall: Promise<unknown> = Promise.resolve()
  #sentAt = -Number.POSITIVE_INFINITY
  /** Whether the last call was refused, as one of a reader who is no member. */
  isRefused = false

  constructor(readonly options: ThrottledReadsOptions) {}

  /**
   * Without an id it marks what is known now, and not what comes until the call is sent.
   * Of several messages the newest one wins.
   */
  mark(messageId: string | undefined): Promise<unknown> {
    const { isConnected, mark, find } = this.options
    const message = find(messageId)
    const read = { messageId: messageId ?? message?.id, seq: message?.seq }
    if (!isConnected()) return mark(read)
    this.#next ??= { completion: this.#lastCall.then(() => this.#send()), read }
    this.#next.read = furtherRead(this.#next.read, read)
    return this.#next.completion
  }

  async #send() {
    const delayMs = this.#sentAt + READ_INTERVAL_MS - performance.now()
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    const read = this.#next?.read
    this.#next = undefined
    // The call before may have done it.
    if (!read || this.options.isRead()) return
    this.#sentAt = performance.now()
    const call = this.options.mark(read)
    this.#lastCall = call.catch((error) => {
      this.isRefused = isChatError(error, 'FORBIDDEN')
    })
    return call
  }
}
