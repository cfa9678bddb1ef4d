import type { UserApi } from '../generated/types.ts'

/** The server stops showing someone as typing after 6 seconds. */
const TYPING_INTERVAL_MS = 3_000
const TYPING_PAUSE_MS = 5_000

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
