import type { Server as HttpServer } from 'node:http'
import type { Config } from '../config/index.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Shutdown } from '../core/shutdown.ts'
import type { Db } from '../db/client.ts'
import { observeProcess } from '../http/metrics-server.ts'
import type { StopFunction } from '../process/lifecycle.ts'
import { stopListening } from './close-port.ts'
import { followOrders, type Handed } from './worker-link.ts'

/** How long a process whose successor listens goes on at least. */
const HAND_OVER_MS = 2_000

/** One of several processes is enough to run the jobs. */
export const runsJobs = (worker: Handed | undefined) => worker === undefined || worker.number === 1

type WorkerSetup = { config: Config; databaseUrl: string; db: Db }
type WorkerParts = {
  app: { server: HttpServer }
  metrics: Metrics
  shutdown: Shutdown
  stopFunctions: StopFunction[]
  /** Stops this process, after `before` if it is given. */
  stop: (before?: () => Promise<void>) => void
}

/** Follows the first process, which serves the metrics of all. Returns what to do on SIGHUP. */
export function followFirstProcess(
  { config, databaseUrl, db }: WorkerSetup,
  { app, metrics, shutdown, stopFunctions, stop }: WorkerParts,
) {
  const { poolSize, metricsPort, shutdownDelayMs } = config
  const observed =
    metricsPort === undefined ? undefined : observeProcess(metrics, { db, databaseUrl, poolSize })
  if (observed) stopFunctions.push(observed.stop)
  followOrders({
    stop: () => stop(),
    handOver: () => {
      // Others accept connections from now on. Those that are open go on for a while.
      stopListening(app.server)
      stop(() => shutdown.handOver(Math.max(shutdownDelayMs, HAND_OVER_MS)))
    },
    showMetrics:
      observed &&
      (async () => {
        await observed.update()
        return metrics.registry.getMetricsAsJSON()
      }),
  })
  return () => {} // it is meant for the first process
}
