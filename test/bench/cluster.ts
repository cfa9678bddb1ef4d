import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { hasRedis, startRedis } from '../support/redis.ts'
import { startClients } from './cluster/clients.ts'
import { startNodes } from './cluster/nodes.ts'
import { createPhases, type Measured } from './cluster/phases.ts'
import { seedUsers } from './connect/seed.ts'
import { progress } from './http/compare.ts'
import { counting, watchDatabase } from './http/database.ts'
import { createDatabase, startServer } from './server.ts'
import { print } from './support.ts'

/**
 * Measures the cost of sharing sockets among nodes: memory, the CPU of all nodes, PostgreSQL and
 * Redis for each delivered event, and the return of the sockets of a node that was killed. One node
 * is measured first, in the same run. Each socket is another user, in ten channels of a hundred.
 */
const { values: given } = parseArgs({
  options: {
    nodes: { type: 'string' },
    sockets: { type: 'string' },
    sends: { type: 'string' },
    seconds: { type: 'string' },
    redis: { type: 'boolean', default: false },
    profile: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const defaults = given.smoke
  ? { nodes: '2', sockets: 20, sends: 20, seconds: 1 }
  : { nodes: '2,4', sockets: 2_000, sends: 50, seconds: 15 }
const NODES = [...new Set([1, ...(given.nodes ?? defaults.nodes).split(',').map(Number)])]
const SOCKETS = Number(given.sockets ?? defaults.sockets)
const perSecond = Number(given.sends ?? defaults.sends)
const seconds = Number(given.seconds ?? defaults.seconds)

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
const isWithRedis = given.redis && hasRedis
const redis = isWithRedis ? await startRedis() : undefined
try {
  await measureAll(await createDatabase(postgres.url, 'bench'))
} finally {
  await redis?.kill()
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function measureAll(databaseUrl: string) {
  const variables = { DATABASE_URL: databaseUrl, SOCKETS_PER_USER: '0' }
  const first = await startServer(variables)
  const seeded = await seedUsers(databaseUrl, { url: first.url, count: SOCKETS })
  await first.stop()
  const database = await watchDatabase(databaseUrl)
  const brokers: Broker[] = [
    { broker: 'NOTIFY', own: {}, redisPid: undefined },
    ...(redis ? [{ broker: 'Redis', own: { REDIS_URL: redis.url }, redisPid: redis.pid() }] : []),
  ]
  for (const { broker, own, redisPid } of brokers) {
    let oneNode: Measured | undefined
    for (const count of NODES) {
      const name = `${count} ${count === 1 ? 'node' : 'nodes'}, ${broker}`
      progress(name)
      const profileDir = given.profile && join(given.profile, `${count}-${broker}`)
      const started = {
        count,
        variables: { ...variables, ...own },
        database,
        redisPid,
        profileDir,
      }
      const nodes = await startNodes(started)
      const clients = startClients(SOCKETS)
      try {
        const phases = createPhases({ nodes, clients, seeded, perSecond, seconds })
        const measured = await phases.measure()
        oneNode ??= measured
        const storms = count > 1 ? await phases.storms(count) : {}
        const load = loadavg()[0]?.toFixed(0) ?? ''
        print(name, { ...figuresOf(measured, oneNode), ...storms, load })
      } finally {
        await clients.stop()
        await nodes.stop()
      }
    }
  }
  print('machine', { cores: cpus().length, cpu: cpus()[0]?.model ?? '', node: process.version })
  await database.end()
}

type Broker = { broker: string; own: Record<string, string>; redisPid: number | undefined }

function figuresOf(measured: Measured, oneNode: Measured) {
  const { socketKiB, idleCores, sends, deliveries, micros, statements } = measured
  const all = ({ micros: { nodes, database, redis } }: Measured) => nodes + database + redis
  const beyondIdle = (measured: Measured) => all(measured) - measured.micros.idle
  return {
    sockets: SOCKETS,
    'KiB a socket': socketKiB.toFixed(1),
    'idle % of a core': (idleCores * 100).toFixed(1),
    'sends/s': sends.toFixed(0),
    'events/s': deliveries.toFixed(0),
    'statements a message': statements.toFixed(2),
    'nodes µs an event': micros.nodes.toFixed(1),
    'pg µs': micros.database.toFixed(1),
    'redis µs': micros.redis.toFixed(1),
    'events/s a core': Math.round(1e6 / all(measured)),
    'of one node': (all(oneNode) / all(measured)).toFixed(2),
    'of one node, beyond idle': (beyondIdle(oneNode) / beyondIdle(measured)).toFixed(2),
  }
}
