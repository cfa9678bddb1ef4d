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
  /** Since when users type, by topic and user. */
  readonly #typing = new Map<string, { at: number; timer: NodeJS.Timeout }>()

  constructor(
    readonly onStop: (stop: EphemeralEvent, origin: { isOwn: boolean }) => void,
    readonly typingMs: number,
  ) {}

  /**
   * Tracks an event. Returns false for a stop that is not sent on: of a user who is not typing, or
   * of one whose time was up at a node that did not receive a later start.
   */
  track(event: EphemeralEvent, { isOwn }: { isOwn: boolean }): boolean {
    if (event.type !== 'typing.start' && event.type !== 'typing.stop') return true
    const { type, payload } = event
    const key = `${event.topic} ${payload.userId}`
    const known = this.#typing.get(key)
    const now = performance.now()
    if (event.isTimedOut && known && now < known.at + this.typingMs - REMOTE_DELAY_MS) return false
    clearTimeout(known?.timer)
    this.#typing.delete(key)
    if (type === 'typing.stop') return known !== undefined
    const stop: EphemeralEvent = { ...event, type: 'typing.stop', payload, isTimedOut: true }
    const milliseconds = isOwn ? this.typingMs : this.typingMs + REMOTE_DELAY_MS
    const timer = setTimeout(() => this.onStop(stop, { isOwn }), milliseconds)
    this.#typing.set(key, { at: now, timer })
    return true
  }

  stop() {
    for (const { timer } of this.#typing.values()) clearTimeout(timer)
    this.#typing.clear()
  }
}
