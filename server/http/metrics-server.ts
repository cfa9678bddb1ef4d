import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics } from 'prom-client'
import { observeDatabase } from '../core/database-metrics.ts'
import { observeEventLoop } from '../core/event-loop-metrics.ts'
import type { Metrics } from '../core/metrics.ts'
import { createMetricsLease } from '../core/metrics-lease.ts'
import type { Db } from '../db/client.ts'
import { handleClientErrors } from './client-errors.ts'
import type { ListenAddress } from './listen.ts'

type Observed = { db: Db; databaseUrl: string; poolSize: number }

/**
 * Collects the metrics that are not counted where they happen: of Node.js, the event loop and the
 * database.
 */
export function observeProcess(metrics: Metrics, { db, databaseUrl, poolSize }: Observed) {
  const { registry } = metrics
  collectDefaultMetrics({ register: registry })
  const stopObserving = observeEventLoop(registry)
  const lease = createMetricsLease(databaseUrl)
  return {
    /** To be called before the metrics are read. */
    update: observeDatabase(metrics, { db, poolSize, isReporter: lease.isHeld }),
    stop: async () => {
      stopObserving()
      await lease.release()
    },
  }
}

/** Serves the metrics of this process. */
export async function startMetricsServer(
  metrics: Metrics,
  { port, host, ...observed }: Observed & ListenAddress,
) {
  const { registry } = metrics
  const { update, stop } = observeProcess(metrics, observed)
  const read = async () => {
    await update()
    return { text: await registry.metrics(), contentType: registry.contentType }
  }
  const server = await startTextServer({ port, host, read })
  return {
    port: server.port,
    stop: async () => {
      await stop()
      await server.stop()
    },
  }
}

type Text = { text: string; contentType: string }

/**
 * Serves `GET /metrics` on a separate port, which should not be reachable from the internet: on any
 * free one if it is 0.
 */
export async function startTextServer({
  port,
  host,
  read,
}: ListenAddress & { read: () => Promise<Text> }) {
  const noSniff = { 'x-content-type-options': 'nosniff' }
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics')
      return response.writeHead(404, noSniff).end()
    // A collector that throws is a bug, but no reason for the process to end.
    const shown = await read().catch(() => undefined)
    if (!shown) return response.writeHead(500, noSniff).end()
    response.writeHead(200, { ...noSniff, 'content-type': shown.contentType }).end(shown.text)
  })
  handleClientErrors(server, { commonHeaders: () => noSniff, onRefused: () => {} })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
