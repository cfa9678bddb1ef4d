import type { EphemeralEvent } from '../core/event-bus.ts'

/** Ends what typists forget to end. Every node hears of every typist; the one that was called last sees to his stop. */
export class TypingTracker {
  /** By topic and user; a timer of one's own, or that of a typist of another node. */
  readonly #typing = new Map<string, NodeJS.Timeout>()

  constructor(
    readonly onStop: (stop: EphemeralEvent) => void,
    readonly typingMs: number,
  ) {}

  /** Takes note of a signal; false for the stop of somebody who does not type, which is no news. */
  admit(event: EphemeralEvent, { isOwn }: { isOwn: boolean }): boolean {
    if (event.type !== 'typing.start' && event.type !== 'typing.stop') return true
    const isStart = event.type === 'typing.start'
    const { payload } = event
    const key = `${event.topic} ${payload.userId}`
    const known = this.#typing.get(key)
    clearTimeout(known)
    this.#typing.delete(key)
    if (!isStart) return known !== undefined
    const onTimeout = () => {
      if (isOwn) this.onStop({ ...event, type: 'typing.stop', payload })
      else this.#typing.delete(key)
    }
    // Elsewhere a little longer: the stop is on its way.
    this.#typing.set(key, setTimeout(onTimeout, isOwn ? this.typingMs : this.typingMs + 1_000))
    return true
  }

  stop() {
    for (const timer of this.#typing.values()) clearTimeout(timer)
    this.#typing.clear()
  }
}
