import { once } from 'node:events'
import { createServer } from 'node:http'
import { collectDefaultMetrics } from 'prom-client'
import { type Metrics, observeDatabase } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'

/** `GET /metrics` on a port of its own, which is not for strangers. Answers with what ends it. */
export async function startMetrics(
  metrics: Metrics,
  { db, poolSize, port, host }: { db: Db; poolSize: number; port: number; host: string },
) {
  const { registry } = metrics
  collectDefaultMetrics({ register: registry })
  const askDatabase = observeDatabase(metrics, { db, poolSize })
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return response.writeHead(404).end()
    await askDatabase()
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  }).listen(port, host)
  await once(server, 'listening')
  return async () => {
    server.close()
    server.closeAllConnections()
  }
}
