import { Gauge, type Registry } from 'prom-client'

export type ListenerWatch = ReturnType<typeof createListenerWatch>

/** Watches the notes that this node sends itself: when they were sent, and when they arrived. */
export function createListenerWatch(silenceMs: number) {
  let heardAt: number | undefined
  let lagMs = 0
  /** When the beats that have not arrived yet were sent. */
  let under: number[] = []
  return {
    /** Returns what to call if the beat could not be sent: it does not arrive. */
    sent: () => {
      const sentAt = performance.now()
      // Those of a connection that was lost never arrive.
      under = [...under.slice(-9), sentAt]
      return () => {
        under = under.filter((each) => each !== sentAt)
      }
    },
    heard: (isBeat: boolean) => {
      heardAt = performance.now()
      const sentAt = isBeat ? under.shift() : undefined
      if (sentAt !== undefined) lagMs = heardAt - sentAt
    },
    /** A new connection listens: what was sent before is lost. */
    restarted: () => {
      under = []
    },
    isUp: () => heardAt !== undefined && performance.now() - heardAt <= silenceMs,
    lagSeconds: () => {
      const [oldest] = under
      const waitedMs = oldest === undefined ? 0 : performance.now() - oldest
      return Math.max(lagMs, waitedMs) / 1_000
    },
  }
}

/** Shows it in the metrics. */
export function observeListener(
  registry: Registry,
  { isUp, lagSeconds }: Pick<ListenerWatch, 'isUp' | 'lagSeconds'>,
) {
  const registers = [registry]
  new Gauge({
    name: 'parley_listener_up',
    help: 'Whether the notes that this node sends itself arrive, as those of other nodes do.',
    registers,
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'parley_listener_lag_seconds',
    help: 'How long the last note to itself was under way, or how long one has been.',
    registers,
    collect() {
      this.set(lagSeconds())
    },
  })
}
