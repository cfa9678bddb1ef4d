import type { ChannelEvent } from '../realtime/events.ts'

type TypingEvent = Extract<ChannelEvent, { type: 'typing.start' | 'typing.stop' }>

/** The server ends typing after 6 seconds. Its `typing.stop` may be lost. */
const TYPING_SHOWN_MS = 8_000

/** Ends the typing of users without a typing event for a while. */
export class TypingExpiry {
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>()

  constructor(readonly onExpired: (stop: TypingEvent) => void) {}

  note(event: TypingEvent) {
    const { userId } = event.payload
    clearTimeout(this.#timers.get(userId))
    this.#timers.delete(userId)
    if (event.type === 'typing.stop') return
    const expire = () => this.onExpired({ ...event, type: 'typing.stop' })
    this.#timers.set(userId, setTimeout(expire, TYPING_SHOWN_MS))
  }

  clear() {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
