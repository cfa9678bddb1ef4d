import { AggregatorRegistry, type MetricObject } from 'prom-client'

/** A worker process whose counters are part of the sum, also after it has ended. */
type CountedWorker = { id: number; isDead: () => boolean }
/** The metrics of a worker process; undefined if it was too busy to answer. */
export type WorkerReport = { worker: CountedWorker; metrics: MetricObject[] | undefined }

/**
 * Sums up the metrics of worker processes. Counters and histograms must not fall: Prometheus would
 * take that for a restart, and count them again. So those of a process that has ended are kept, and
 * for a busy one its last ones are used. Gauges are only those of processes that answer now.
 */
export function createMetricsSum() {
  const last = new Map<number, { worker: CountedWorker; counters: MetricObject[] }>()
  let ended: MetricObject[] = []

  /** A registry with the sum, given what running processes have shown. One call at a time. */
  return async (shown: WorkerReport[]) => {
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
