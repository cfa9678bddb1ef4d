import type { EphemeralNote } from '../core/event-bus.ts'

type Event = Extract<EphemeralNote, { kind: 'event' }>

/** Ends what typists forget to end. Every node hears of every typist; the one that was called last sees to his stop. */
export class TypingTracker {
  /** By topic and user; a timer of one's own, or that of a typist of another node. */
  readonly #typing = new Map<string, NodeJS.Timeout>()

  constructor(
    readonly onStop: (stop: Event) => void,
    readonly typingMs: number,
  ) {}

  /** Takes note of a signal; false for the stop of somebody who does not type, which is no news. */
  admit(event: Event, { isOwn }: { isOwn: boolean }): boolean {
    const isStart = event.envelope.startsWith('{"type":"typing.start"')
    if (!isStart && !event.envelope.startsWith('{"type":"typing.stop"')) return true
    const { payload } = JSON.parse(event.envelope) as { payload: { userId: string } } // written by broadcast
    const key = `${event.topic} ${payload.userId}`
    const known = this.#typing.get(key)
    clearTimeout(known)
    this.#typing.delete(key)
    if (!isStart) return known !== undefined
    const onTimeout = () => {
      if (isOwn)
        this.onStop({ ...event, envelope: JSON.stringify({ type: 'typing.stop', payload }) })
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
