import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApi } from '@parley/client/api'
import { topics } from '@parley/contract'
import { createTokens } from '@parley/server/core/tokens'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import type { Client, Opened, Order } from './connect/clients.ts'
import { counting, watchDatabase } from './http/database.ts'
import { ADMIN_KEY, createDatabase, JWT_SECRET, pause, startServer } from './server.ts'
import { print } from './support.ts'

/**
 * What a socket costs: to connect and subscribe to 11 topics, to hold, and to be back after all
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
const CHANNELS_A_USER = 10
const MEMBERS = 100
/** How many connect at the same time, and how many after all were cut. */
const AT_ONCE = { first: 100, storm: 1_000 }

/** What a server has used so far: to be subtracted. */
type Work = { cpu: number; database: number; rss: number }
type Target = { url: string; work: () => Promise<Work>; stop: () => Promise<unknown> }

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
try {
  const databaseUrl = await createDatabase(postgres.url, 'bench')
  const parley = await startParley(databaseUrl)
  const clients = await seed(databaseUrl, parley.http)
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
  // What is made once, and compiled, is not a cost of sockets.
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
  const storm = await ask({ kind: 'storm' })
  const perSocket = (seconds: number) => Math.round((1e6 * seconds) / clients.length)
  print(name, {
    sockets: clients.length,
    'sockets/s': Math.round(clients.length / first.seconds),
    'node µs': perSocket(opened.cpu - before.cpu),
    'pg µs': perSocket(opened.database - before.database),
    'client µs': perSocket(first.cpuSeconds),
    'KiB RSS': ((idle.rss - before.rss) / 1024 / clients.length).toFixed(1),
    'idle % of a core': (((idled.cpu - idle.cpu) / IDLE_SECONDS) * 100).toFixed(1),
    'storm s': storm.seconds.toFixed(1),
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
      const { cpuSeconds } = await database.read()
      return { cpu: await server.cpuSeconds(), database: cpuSeconds, rss: await server.rss() }
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
      return { cpu: (cpu.user + cpu.system) / 1e6, database: 0, rss }
    },
    stop: async () => child.disconnect(),
  }
}
type BareWork = { cpu: NodeJS.CpuUsage; rss: number }

/** The users, each with the topics to subscribe to: their own and those of ten channels. */
async function seed(databaseUrl: string, url: string): Promise<Client[]> {
  const { id: appId } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const { sql, end } = await watchDatabase(databaseUrl)
  const channelCount = Math.ceil((SOCKETS * CHANNELS_A_USER) / MEMBERS)
  await sql`
    insert into users (app_id, id)
    select ${appId}, 'user' || n
    from generate_series(0, ${SOCKETS - 1}::int) n`
  const rows = await sql<{ id: string }[]>`
    insert into channels (id, app_id, cid, type, name, created_by, member_count)
    select gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'Channel ' || n, 'user0', ${MEMBERS}
    from generate_series(0, ${channelCount - 1}::int) n
    returning id`
  const ids = rows.map(({ id }) => id)
  const channelsOf = (user: number) =>
    Array.from(
      { length: Math.min(CHANNELS_A_USER, ids.length) },
      (_, index) => ids[(user + index * 37) % ids.length] ?? '',
    )
  const users = Array.from({ length: SOCKETS }, (_, user) => user)
  const pairs = users.flatMap((user) => channelsOf(user).map((id) => ({ user: `user${user}`, id })))
  await sql`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, channel_id, user_id, 'member'
    from unnest(
      ${pairs.map(({ id }) => id)}::uuid[], ${pairs.map(({ user }) => user)}::text[]
    ) given (channel_id, user_id)
    on conflict do nothing`
  await sql`vacuum analyze`
  await end()
  const tokens = await createTokens([JWT_SECRET])
  return Promise.all(
    users.map(async (user) => {
      const userId = `user${user}`
      return {
        token: await tokens.sign('ws', { appId, userId, generation: 0, admin: false }),
        topics: [
          topics.user(appId, userId),
          ...channelsOf(user).map((id) => topics.channel(appId, id)),
        ],
      }
    }),
  )
}
