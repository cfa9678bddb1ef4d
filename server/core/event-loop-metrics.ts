import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

/** How often the delay is measured, in milliseconds. */
const RESOLUTION_MS = 10
const PERCENTILES = [50, 90, 99, 99.9, 100]

/**
 * Measures how late the event loop runs timers: while it is held up, no request is answered. Each
 * collection is about the time since the one before. Returns a function that stops measuring.
 */
export function observeEventLoop(registry: Registry) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  new Gauge({
    name: 'parley_event_loop_delay_seconds',
    help: 'Percentiles of the delay of the event loop since the last collection; 100: the longest.',
    // Not `quantile`, which Prometheus keeps for summaries.
    labelNames: ['percentile'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      for (const percentile of PERCENTILES) {
        const nanoseconds = histogram.count === 0 ? 0 : histogram.percentile(percentile)
        const seconds = nanoseconds / 1e9 - RESOLUTION_MS / 1e3
        this.set({ percentile: String(percentile) }, Math.max(0, seconds))
      }
      histogram.reset()
    },
  })
  histogram.enable()
  return () => void histogram.disable()
}
