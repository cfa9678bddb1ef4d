import type { Config } from '../config/index.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import { startMetricsServer } from '../http/metrics-server.ts'
import type { StopFunction } from '../process/lifecycle.ts'
import { listenError } from './listen-error.ts'

type Served = {
  config: Pick<Config, 'metricsPort' | 'metricsHost' | 'poolSize'>
  metrics: Metrics
  db: Db
  databaseUrl: string
}

/** Serves the metrics of a process, if a port is set. Returns what ends that. */
export async function serveMetrics({
  config: { metricsPort: port, metricsHost: host, poolSize },
  metrics,
  db,
  databaseUrl,
}: Served): Promise<StopFunction[]> {
  if (port === undefined) return []
  const server = await startMetricsServer(metrics, { db, databaseUrl, poolSize, port, host }).catch(
    listenError({ port, host, prefix: 'METRICS_' }),
  )
  return [server.stop]
}
