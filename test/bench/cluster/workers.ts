import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { seedUsers } from '../connect/seed.ts'
import { counting, watchDatabase } from '../http/database.ts'
import { createDatabase } from '../server.ts'
import { print } from '../support.ts'
import { startClients } from './clients.ts'
import { startNodes } from './nodes.ts'
import { createPhases } from './phases.ts'

/**
 * Deliveries of messages that are sent as fast as they are answered, by one server with each number
 * of worker processes, one after the other.
 */
export async function measureWorkers(
  counts: number[],
  { sockets, seconds }: { sockets: number; seconds: number },
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
  try {
    for (const count of counts) {
      const url = await createDatabase(postgres.url, `workers_${count}`)
      await measure(url, count)
    }
  } finally {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }

  async function measure(databaseUrl: string, workers: number) {
    const variables = { DATABASE_URL: databaseUrl, SOCKETS_PER_USER: '0', WORKERS: `${workers}` }
    const database = await watchDatabase(databaseUrl)
    const nodes = await startNodes({ count: 1, variables, database, redisPid: undefined })
    const clients = startClients(sockets)
    try {
      const [url = ''] = nodes.urls()
      const seeded = await seedUsers(databaseUrl, { url, count: sockets })
      const perSecond = Number.POSITIVE_INFINITY
      const phases = createPhases({ nodes, clients, seeded, perSecond, seconds })
      const { sends, deliveries, micros } = await phases.measure()
      print(`${sockets} sockets, ${workers} ${workers === 1 ? 'process' : 'processes'}`, {
        'sends/s': Math.round(sends),
        'deliveries/s': Math.round(deliveries),
        'node µs a delivery': micros.nodes.toFixed(1),
        'pg µs': micros.database.toFixed(1),
      })
    } finally {
      await clients.stop()
      await nodes.stop()
      await database.end()
    }
  }
}
