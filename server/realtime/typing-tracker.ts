import type { EphemeralEvent } from '../core/event-bus.ts'

/** How much later other nodes forget a typing user: the stop is on its way to them. */
const REMOTE_DELAY_MS = 1_000

/**
 * Stops the typing of users whose client does not. Every node tracks all of them; the node that
 * received the last `typing.start` sends the stop.
 */
export class TypingTracker {
  /** The timers of typing users, by topic and user. */
  readonly #typing = new Map<string, NodeJS.Timeout>()

  constructor(
    readonly onStop: (stop: EphemeralEvent) => void,
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
    const onTimeout = () => {
      if (isOwn) this.onStop({ ...event, type: 'typing.stop', payload })
      else this.#typing.delete(key)
    }
    const milliseconds = isOwn ? this.typingMs : this.typingMs + REMOTE_DELAY_MS
    this.#typing.set(key, setTimeout(onTimeout, milliseconds))
    return true
  }

  stop() {
    for (const timer of this.#typing.values()) clearTimeout(timer)
    this.#typing.clear()
  }
}
