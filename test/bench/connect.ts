import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import type { Client, Opened, Order } from './connect/clients.ts'
import { seedUsers } from './connect/seed.ts'
import { counting, watchDatabase } from './http/database.ts'
import { createDatabase, pause, startServer } from './server.ts'
import { print } from './support.ts'

/**
 * The cost of a socket: to connect and subscribe to 11 topics, to hold, and to be back after all
 * were cut at once; beside a bare `ws` server that parses and answers the same commands. Each
 * socket is another user, who is in ten channels of a hundred members.
 */
const { values: given } = parseArgs({
  options: {
    sockets: { type: 'string' },
    profile: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const SOCKETS = Number(given.sockets ?? (given.smoke ? 20 : 5_000))
const IDLE_SECONDS = given.smoke ? 1 : 15
/** How many connect at once at first, and after all were cut. */
const AT_ONCE = { first: 100, storm: 1_000 }

/** The work that a server has done so far: to be subtracted. */
type Work = { cpu: number; database: number; rss: number; statements: number }
type Target = { url: string; work: () => Promise<Work>; stop: () => Promise<unknown> }

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
try {
  const databaseUrl = await createDatabase(postgres.url, 'bench')
  const parley = await startParley(databaseUrl)
  const { clients } = await seedUsers(databaseUrl, { url: parley.http, count: SOCKETS })
  await measure('parley', parley, clients)
  await measure('bare ws', await startBare(), clients)
} finally {
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function measure(name: string, { url, work, stop }: Target, clients: Client[]) {
  const child = fork(new URL('./connect/clients.ts', import.meta.url))
  const ask = async (order: Order) => {
    child.send(order)
    const [opened] = (await once(child, 'message')) as [Opened] // its only message
    return opened
  }
  // Warm-up: one-time work, such as compiling code, is no cost of sockets.
  await ask({ kind: 'open', url, clients: clients.slice(0, 200), atOnce: 20 })
  await ask({ kind: 'open', url, clients: [], atOnce: 1 })
  await pause(1_000)
  const before = await work()
  const first = await ask({ kind: 'open', url, clients, atOnce: AT_ONCE.first })
  const opened = await work()
  await pause(2_000)
  const idle = await work()
  await pause(IDLE_SECONDS * 1_000)
  const idled = await work()
  await ask({ kind: 'open', url, clients, atOnce: AT_ONCE.storm })
  const beforeStorm = await work()
  const storm = await ask({ kind: 'storm' })
  const statements = (await work()).statements - beforeStorm.statements
  const perSocket = (seconds: number) => Math.round((1e6 * seconds) / clients.length)
  print(name, {
    sockets: clients.length,
    'sockets/s': Math.round(clients.length / first.seconds),
    'node µs': perSocket(opened.cpu - before.cpu),
    'pg µs': perSocket(opened.database - before.database),
    'client µs': perSocket(first.cpuSeconds),
    'frames a socket': (first.frames / clients.length).toFixed(1),
    'KiB a socket': ((idle.rss - before.rss) / 1024 / clients.length).toFixed(1),
    'idle % of a core': (((idled.cpu - idle.cpu) / IDLE_SECONDS) * 100).toFixed(1),
    'storm s': storm.seconds.toFixed(1),
    'storm statements a socket': (statements / clients.length).toFixed(3),
  })
  child.send({ kind: 'close' } satisfies Order)
  await once(child, 'exit')
  await stop()
}

async function startParley(databaseUrl: string): Promise<Target & { http: string }> {
  const variables = { DATABASE_URL: databaseUrl, SOCKETS_PER_USER: '0' }
  const server = await startServer(variables, given.profile)
  const database = await watchDatabase(databaseUrl)
  return {
    http: server.url,
    url: `${server.url.replace(/^http/, 'ws')}/connection/websocket`,
    work: async () => {
      const { cpuSeconds: inPostgres, statements } = await database.read()
      const [cpu, rss] = [await server.cpuSeconds(), await server.rss()]
      return { cpu, database: inPostgres, rss, statements }
    },
    stop: async () => {
      await database.end()
      await server.stop()
    },
  }
}

async function startBare(): Promise<Target> {
  const child = fork(new URL('./connect/bare.ts', import.meta.url))
  const [{ url }] = (await once(child, 'message')) as [{ url: string }] // its first message
  return {
    url,
    work: async () => {
      child.send('work')
      const [{ cpu, rss }] = (await once(child, 'message')) as [BareWork] // its answer
      return { cpu: (cpu.user + cpu.system) / 1e6, database: 0, rss, statements: 0 }
    },
    stop: async () => child.disconnect(),
  }
}
type BareWork = { cpu: NodeJS.CpuUsage; rss: number }
