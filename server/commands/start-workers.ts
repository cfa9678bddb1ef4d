import { once } from 'node:events'
import type { Logger } from 'pino'
import type { MetricObject } from 'prom-client'
import { developmentSecrets } from '../config/dev-secrets.ts'
import type { Config } from '../config/index.ts'
import { DATABASE_ANSWER_MS } from '../core/database-metrics.ts'
import { startTextServer } from '../http/metrics-server.ts'
import type { StopFunction } from '../process/lifecycle.ts'
import { listenError } from './listen-error.ts'
import { prepareDatabase } from './open.ts'
import { ShownMetrics } from './worker-link.ts'
import { createMetricsSum } from './worker-metrics.ts'
import { createWorkerPool, tell } from './worker-pool.ts'

/** How long a worker process may take to show its metrics, for which it asks the database twice. */
const METRICS_MS = 2 * DATABASE_ANSWER_MS + 1_000

type WorkersOptions = {
  config: Config
  databaseUrl: string
  stopFunctions: StopFunction[]
  log: Logger
}

/**
 * Starts the worker processes of this server, which share its port. This process owns what there is
 * once: the embedded database, the migration, the port of the metrics.
 */
export async function startWorkers({ config, databaseUrl, stopFunctions, log }: WorkersOptions) {
  const { workers: count, shutdownDelayMs: delayMs } = config
  if (!config.isProduction) developmentSecrets(config.dataDir)
  await prepareDatabase(databaseUrl, config)
  const pool = createWorkerPool({ count, databaseUrl, delayMs, log })
  stopFunctions.push(pool.stop)
  await pool.start()
  stopFunctions.push(...(await serveAggregated(config, pool)))
  return pool
}

type WorkerPool = ReturnType<typeof createWorkerPool>

async function serveAggregated(
  { metricsPort: port, metricsHost: host }: Config,
  { all }: WorkerPool,
) {
  if (port === undefined) return []
  let asked = 0
  let reading: Promise<{ text: string; contentType: string }> | undefined
  const sum = createMetricsSum()
  const readAll = async () => {
    asked += 1
    const shown = all().map(async (worker) => ({ worker, metrics: await metricsOf(worker, asked) }))
    const registry = await sum(await Promise.all(shown))
    return { text: await registry.metrics(), contentType: registry.contentType }
  }
  /** Requests that come meanwhile share the answer. */
  const read = () => {
    reading ??= readAll().finally(() => {
      reading = undefined
    })
    return reading
  }
  const server = await startTextServer({ port, host, read }).catch(
    listenError({ port, host, prefix: 'METRICS_' }),
  )
  return [server.stop]
}

async function metricsOf(worker: ReturnType<WorkerPool['all']>[number], id: number) {
  const signal = AbortSignal.timeout(METRICS_MS)
  tell(worker, { order: 'show metrics', id })
  try {
    for (;;) {
      const [message] = await once(worker, 'message', { signal })
      const { data } = ShownMetrics.safeParse(message)
      if (data?.id === id) return data.metrics as MetricObject[] // of prom-client, as JSON
    }
  } catch {
    return undefined
  }
}
