import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics } from 'prom-client'
import { observeDatabase } from '../core/database-metrics.ts'
import { observeEventLoop } from '../core/event-loop-metrics.ts'
import type { Metrics } from '../core/metrics.ts'
import { createMetricsLease } from '../core/metrics-lease.ts'
import type { Db } from '../db/client.ts'

type MetricsServerOptions = {
  db: Db
  databaseUrl: string
  poolSize: number
  port: number
  host: string
}

/**
 * Serves `GET /metrics` on a separate port, which should not be reachable from the internet: on any
 * free one if it is 0.
 */
export async function startMetricsServer(
  metrics: Metrics,
  { db, databaseUrl, poolSize, port, host }: MetricsServerOptions,
) {
  const { registry } = metrics
  collectDefaultMetrics({ register: registry })
  const stopObserving = observeEventLoop(registry)
  const lease = createMetricsLease(databaseUrl)
  const updateDatabaseMetrics = observeDatabase(metrics, {
    db,
    poolSize,
    isReporter: lease.isHeld,
  })
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return response.writeHead(404).end()
    await updateDatabaseMetrics()
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  }).listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    stop: async () => {
      stopObserving()
      await lease.release()
      server.close()
      server.closeAllConnections()
    },
  }
}
