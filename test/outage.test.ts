import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isChatError } from '@parley/client'
import { patience } from '@parley/server/db/client'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { migrate } from '@parley/server/db/migrate'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { whileLocked } from './support/locks.ts'
import { type Answer, expectError, post } from './support/raw.ts'
import { slowness } from './support/slowness.ts'
import { patient } from './support/until.ts'
import { createWorld, type User, useWorld, type World } from './support/world.ts'

const POOL = 12
/** How many of these connections one user may have. */
const AT_ONCE = 3
/** docs/reliability.md promises answers within this time. A busy machine may serve again later. */
const PROMISED_MS = 10_000
const SERVED_MS = PROMISED_MS * slowness
const world = useWorld({ poolSize: POOL, patience })

test('a call blocked by the database is UNAVAILABLE within 10 s and writes nothing', async () => {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const answers = await whileLocked(world(), id, async () => ({
    held: await Promise.all([
      ...many(5, () => send(world(), ana, id)),
      ...many(5, () => edit(world(), ana, id)),
    ]),
    // All connections of the user are taken, but this request needs none.
    live: await post(world().url, '/health/live', { method: 'GET' }),
  }))
  expect(answers.live.status).toBe(200)
  for (const answer of answers.held) {
    expect(expectError(answer, 'UNAVAILABLE')).toBe('The database is out of reach')
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.milliseconds).toBeLessThan(PROMISED_MS)
  }
  await expectEverySlotUsable(world(), ana, id)
  expect((await ana.messages.list({ channelId: id })).maxSeq).toBe(0)
  expect((await ana.messages.send({ channelId: id, text: 'hi' })).seq).toBe(1)
})

/** A database server of our own, to be stopped and killed. */
const startServer = async (): Promise<EmbeddedPostgres & { kill: () => Promise<unknown> }> => {
  const server = await startEmbeddedPostgres({
    dataDir,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '60' },
  })
  const kill = async () =>
    process.kill(
      Number(readFileSync(join(server.dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]),
      'SIGKILL',
    )
  return { ...server, kill }
}
const dataDir = createDataFolder('outage')
let server: Awaited<ReturnType<typeof startServer>>
let fragile: World

beforeAll(async () => {
  server = await startServer()
  await migrate(server.url)
  fragile = await createWorld({ poolSize: POOL, databaseUrl: server.url, patience })
})
afterAll(async () => {
  await fragile?.stop()
  await server?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('silent database connections are replaced for the next calls', async () => {
  const ana = await fragile.user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Silence' })
  await expectEverySlotUsable(fragile, ana, id)
  const backends = await fragile.db<{ pid: number }[]>`
    select pid
    from pg_stat_activity
    where application_name = 'parley-test'`
  expect(backends.length).toBeGreaterThanOrEqual(AT_ONCE)
  for (const { pid } of backends) process.kill(pid, 'SIGSTOP')
  try {
    const refused: Answer[] = []
    // The server's own work may use some of them first, and a call gets a new one in its place.
    for (let left = backends.length; left > 0; left -= AT_ONCE) {
      const answers = await Promise.all(many(AT_ONCE, () => edit(fragile, ana, id)))
      for (const answer of answers) expect(answer.milliseconds).toBeLessThan(PROMISED_MS)
      refused.push(...answers.filter(({ status }) => status !== 200))
    }
    for (const answer of refused) expectError(answer, 'UNAVAILABLE')
    expect(refused.length).toBeGreaterThan(0)
    await expectEverySlotUsable(fragile, ana, id)
  } finally {
    for (const { pid } of backends) process.kill(pid, 'SIGCONT')
  }
})

test('idle connections that the database has closed are not reused', async () => {
  const ana = await fragile.user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Idle' })
  await expectEverySlotUsable(fragile, ana, id)
  await fragile.db`
    select pg_terminate_backend(pid, 5000)
    from pg_stat_activity
    where application_name = 'parley-test'`
  await vi.waitFor(async () => expect((await edit(fragile, ana, id)).status).toBe(200), patient)
  await expectEverySlotUsable(fragile, ana, id)
})

for (const [name, end] of Object.entries({
  killed: () => server.kill(),
  stopped: () => server.stop(),
})) {
  test(`nothing acknowledged is lost when the database is ${name} under traffic`, async () => {
    const users = await fragile.users('ana', 'ben', 'eve', 'dan')
    const { id } = await users[0].channels.create({
      type: 'group',
      name: `Talk ${name}`,
      memberIds: users.map((user) => user.id),
    })
    const traffic = startTraffic(users, id)
    onTestFinished(traffic.abort)
    await traffic.acknowledges(20)

    await end()
    await vi.waitFor(async () => expectError(await health(), 'UNAVAILABLE'), {
      ...patient,
      interval: 5,
    })
    for (const answer of await Promise.all([
      ...many(10, () => send(fragile, users[1], id)),
      ...many(10, () => edit(fragile, users[0], id)),
    ])) {
      expectError(answer, 'UNAVAILABLE')
      expect(answer.milliseconds).toBeLessThan(PROMISED_MS)
    }
    await server.stop()
    server = await startServer()
    await vi.waitFor(async () => expect((await health()).status).toBe(200), {
      timeout: SERVED_MS,
      interval: 20,
    })
    await traffic.acknowledges(20)

    const { acknowledged, slowest } = await traffic.stop()
    expect(slowest).toBeLessThan(PROMISED_MS)
    const stored = await fragile.db<{ seq: number; clientId: string }[]>`
      select seq, client_id
      from messages
      where channel_id = ${id}
      order by seq`
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1))
    expect(stored.map(({ clientId }) => clientId).sort()).toEqual(acknowledged.sort())
    await expectEverySlotUsable(fragile, users[0], id)
  })
}

const health = () => post(fragile.url, '/health', { method: 'GET' })

/**
 * Users who send one message after the other, each again and again until it is acknowledged. `stop`
 * waits for the last ones, `abort` leaves them.
 */
function startTraffic(users: User[], channelId: string) {
  const acknowledged: string[] = []
  let slowest = 0
  let isOver = false
  let isAborted = false
  const deliver = async (user: User, clientId: string) => {
    const began = performance.now()
    try {
      await user.messages.send({ channelId, text: 'hi', clientId })
      acknowledged.push(clientId)
      return true
    } catch (error) {
      if (!isChatError(error, 'UNAVAILABLE')) throw error
      await delay(10)
      return isAborted
    } finally {
      slowest = Math.max(slowest, performance.now() - began)
    }
  }
  const chat = async (user: User) => {
    for (let n = 1; !isOver; n++) {
      let isDelivered = false
      while (!isDelivered) isDelivered = await deliver(user, `${user.id}-${n}`)
    }
  }
  const chats = Promise.all(users.map(chat))
  const stop = async () => {
    isOver = true
    await chats
    return { acknowledged, slowest }
  }
  const abort = async () => {
    isAborted = true
    await stop()
  }
  return {
    acknowledges: (count: number, before = acknowledged.length) =>
      vi.waitFor(() => expect(acknowledged.length).toBeGreaterThanOrEqual(before + count), patient),
    stop,
    abort,
  }
}

const many = <T>(count: number, make: () => T) => Array.from({ length: count }, make)

type TimedAnswer = Answer & { milliseconds: number }
const write = async (
  { url }: World,
  { token }: User,
  path: string,
  request: { method?: string; body: string },
): Promise<TimedAnswer> => {
  const began = performance.now()
  const answer = await post(url, path, {
    ...request,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  })
  return { ...answer, milliseconds: performance.now() - began }
}
const send = (world: World, user: User, channelId: string) =>
  write(world, user, `/api/channels/${channelId}/messages`, { body: '{"text":"hi"}' })
const edit = (world: World, user: User, channelId: string) =>
  write(world, user, `/api/channels/${channelId}`, {
    method: 'PATCH',
    body: '{"description":"hi"}',
  })

/**
 * Expects as many calls as a user may have to get a connection at once, and the others in turn.
 */
async function expectEverySlotUsable(world: World, user: User, channelId: string) {
  const { calls } = await whileLocked(world, channelId, async (waiting) => {
    const calls = many(AT_ONCE + 2, () => edit(world, user, channelId))
    await waiting(AT_ONCE)
    return { calls }
  })
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(
    many(AT_ONCE + 2, () => 200),
  )
}
