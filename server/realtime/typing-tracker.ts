import type { EphemeralEvent } from '../core/event-bus.ts'

/**
 * How much later than its own node the others end a user's typing: the stop is on its way to them.
 */
const REMOTE_DELAY_MS = 1_000

/**
 * Ends the typing of users whose client does not say so. Every node tracks all typing users. The
 * node that received the last `typing.start` sends the stop; the others wait a little longer, in
 * case it has died.
 */
export class TypingTracker {
  /** The timers of typing users, by topic and user. */
  readonly #typing = new Map<string, NodeJS.Timeout>()

  constructor(
    readonly onStop: (stop: EphemeralEvent, origin: { isOwn: boolean }) => void,
    readonly typingMs: number,
  ) {}

  /** Tracks an event. Returns false for a stop of a user who is not typing: it is not sent on. */
  track(event: EphemeralEvent, { isOwn }: { isOwn: boolean }): boolean {
    if (event.type !== 'typing.start' && event.type !== 'typing.stop') return true
    const { type, payload } = event
    const key = `${event.topic} ${payload.userId}`
    const timer = this.#typing.get(key)
    clearTimeout(timer)
    this.#typing.delete(key)
    if (type === 'typing.stop') return timer !== undefined
    const onTimeout = () => this.onStop({ ...event, type: 'typing.stop', payload }, { isOwn })
    const milliseconds = isOwn ? this.typingMs : this.typingMs + REMOTE_DELAY_MS
    this.#typing.set(key, setTimeout(onTimeout, milliseconds))
    return true
  }

  stop() {
    for (const timer of this.#typing.values()) clearTimeout(timer)
    this.#typing.clear()
  }
}
