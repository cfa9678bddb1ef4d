import { Gauge, type Registry } from 'prom-client'

export type ListenerWatch = ReturnType<typeof createListenerWatch>

/** Checks that the listening connection works, by the notes that this node sends itself. */
export function createListenerWatch(silenceMs: number) {
  let receivedAt: number | undefined
  let lagMs = 0
  /** When the beats were sent that have not arrived yet. */
  let pending: number[] = []
  return {
    /** Returns a function to call if the beat could not be sent, since it will not arrive. */
    sent: () => {
      const sentAt = performance.now()
      // Beats of a lost connection never arrive, so only the last few are kept.
      pending = [...pending.slice(-9), sentAt]
      return () => {
        pending = pending.filter((each) => each !== sentAt)
      }
    },
    received: (isBeat: boolean) => {
      receivedAt = performance.now()
      const sentAt = isBeat ? pending.shift() : undefined
      if (sentAt !== undefined) lagMs = receivedAt - sentAt
    },
    /** A new connection listens: beats sent before are lost. */
    restarted: () => {
      pending = []
    },
    isUp: () => receivedAt !== undefined && performance.now() - receivedAt <= silenceMs,
    lagSeconds: () => {
      const [oldest] = pending
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
    aggregator: 'min',
    registers,
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'parley_listener_lag_seconds',
    help: 'How long the last note to itself was under way, or how long one has been.',
    aggregator: 'max',
    registers,
    collect() {
      this.set(lagSeconds())
    },
  })
}
