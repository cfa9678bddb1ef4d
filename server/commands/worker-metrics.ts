import { AggregatorRegistry, type MetricObject } from 'prom-client'

/** A worker process: it counts for ever under its id, also when it has ended. */
type Counted = { id: number; isDead: () => boolean }
/** What a worker process has shown. Undefined: it was too busy. */
export type Shown = { worker: Counted; metrics: MetricObject[] | undefined }

/**
 * Sums up what worker processes show. Counters and histograms must not fall: Prometheus takes that
 * for a restart, and would count once more what they had. So those of a process that has ended
 * stay, and those of a busy one are its last. Gauges are only of who answers now.
 */
export function createMetricsSum() {
  const last = new Map<number, { worker: Counted; counters: MetricObject[] }>()
  let ended: MetricObject[] = []

  /** The registry of all, from what those that run have shown now. One call at a time. */
  return async (shown: Shown[]) => {
    for (const { worker, metrics } of shown)
      if (metrics) last.set(worker.id, { worker, counters: metrics.filter(isCounted) })
    const answered = new Set(shown.flatMap(({ worker, metrics }) => (metrics ? worker.id : [])))
    for (const [id, { worker, counters }] of last) {
      if (answered.has(id) || !worker.isDead()) continue
      last.delete(id)
      ended = await sum([ended, counters]).getMetricsAsJSON()
    }
    const busy = [...last.values()].filter(({ worker }) => !answered.has(worker.id))
    return sum([
      ...shown.map(({ metrics = [] }) => metrics),
      ...busy.map(({ counters }) => counters),
      ended,
    ])
  }
}

const sum = (metrics: MetricObject[][]) => AggregatorRegistry.aggregate(metrics)

// prom-client declares types as numbers and has names.
const isCounted = ({ type }: MetricObject) => ['counter', 'histogram'].includes(String(type))
