import type { UserApi } from '../types.ts'

/** The server forgets a typist after 6 seconds. */
const TYPING_EVERY_MS = 3_000
const TYPING_STOPS_MS = 5_000
const READ_EVERY_MS = 500

/** What is said often and matters little: typing and reading, at most so often. */
export class Signals {
  #toldTypingAt = 0
  #stopTimer: ReturnType<typeof setTimeout> | undefined
  #reading: { next: Promise<void> | undefined; messageId: string | undefined } = {
    next: undefined,
    messageId: undefined,
  }
  #lastRead = Promise.resolve()
  #readAt = 0

  constructor(
    readonly api: Pick<UserApi, 'typing' | 'reads'>,
    readonly channelId: string,
  ) {}

  keystroke(now = Date.now()) {
    clearTimeout(this.#stopTimer)
    this.#stopTimer = setTimeout(() => this.stopTyping(), TYPING_STOPS_MS)
    if (now - this.#toldTypingAt < TYPING_EVERY_MS) return
    this.#toldTypingAt = now
    this.#tell(true)
  }

  stopTyping() {
    const wasTold = this.#toldTypingAt !== 0
    this.pause()
    if (wasTold) this.#tell(false)
  }

  /** The connection is lost, and with it whom it could be told to. */
  pause() {
    clearTimeout(this.#stopTimer)
    this.#toldTypingAt = 0
  }

  /** One call for all that are made before it goes out, as far as the farthest of them: ids grow with time. */
  markRead(messageId: string | undefined): Promise<void> {
    const { next, messageId: other } = this.#reading
    if (!next) this.#reading.messageId = messageId
    else this.#reading.messageId = messageId && other && (messageId > other ? messageId : other)
    this.#reading.next ??= this.#lastRead.then(() => this.#markSoon())
    return this.#reading.next
  }

  async #markSoon() {
    const early = this.#readAt + READ_EVERY_MS - Date.now()
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    const { messageId } = this.#reading
    this.#reading = { next: undefined, messageId: undefined }
    this.#readAt = Date.now()
    const marked = this.api.reads.mark({
      channelId: this.channelId,
      ...(messageId === undefined ? {} : { messageId }),
    })
    this.#lastRead = marked.then(
      () => {},
      () => {},
    )
    await marked
  }

  #tell(typing: boolean) {
    this.api.typing.set({ channelId: this.channelId, typing }).catch(() => {}) // the next keystroke tells it again
  }
}
