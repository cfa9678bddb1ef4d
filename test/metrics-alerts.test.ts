import { topics } from '@parley/contract'
import { observeDatabase } from '@parley/server/core/database-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { createMetricsLease } from '@parley/server/core/metrics-lease'
import { createDb } from '@parley/server/db/client'
import { startMetricsServer, startTextServer } from '@parley/server/http/metrics-server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { exchange } from './support/raw.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { refusal } from './support/refusal.ts'
import { sample } from './support/scrape.ts'
import { RawSocket, useSockets } from './support/socket.ts'
import { unhurried, until } from './support/until.ts'
import { createWorld, useWorld } from './support/world.ts'

// An event that is compared with the database at that moment would count as missed.
const world = useWorld({ timings: { reconcileMs: 600_000, brokerBeatMs: 50 } })
const terminatedLater = useSockets()
const shown = () => world().metrics.registry.metrics()

/** How much the series have grown since now. */
async function growth() {
  const before = await shown()
  return async (series: string) => sample(await shown(), series) - sample(before, series)
}

test('closed sockets are counted by the code of the side that closed first', async () => {
  const [ana] = await world().users('ana')
  const grown = await growth()
  const sockets = await Promise.all([1, 2, 3].map(() => RawSocket.connect(world(), ana)))
  const bad = await terminatedLater(RawSocket.open(world()))
  bad.send({ id: 1, connect: { token: 'forged' } })
  await bad.closed
  sockets[0]?.socket.close(1000)
  sockets[1]?.socket.close(4999)
  sockets[2]?.send({ id: 2, nonsense: {} }).socket.terminate()
  const closes = (code: string) => grown(`parley_socket_closes_total{code="${code}"}`)
  const isCounted = async () =>
    (await closes('3500')) === 1 &&
    (await closes('1000')) >= 1 &&
    (await closes('other')) >= 1 &&
    (await closes('1006')) + (await closes('3501')) >= 1
  await until(isCounted)
  expect(await shown()).not.toContain('code="4999"')
  const forged = 'parley_credentials_refused_total{credential="ws_token",code="INVALID_TOKEN"}'
  expect(await grown(forged)).toBe(1)
})

test('refused credentials are counted by their kind', async () => {
  const grown = await growth()
  await refusal(world().api({ token: 'forged' }).channels.list())
  await refusal(world().api({ apiKey: 'forged' }).tokens.create({ userId: 'ana' }))
  await refusal(world().api({ adminKey: 'forged' }).apps.list())
  await refusal(world().api().channels.list())
  const refused = (credential: string, code = 'UNAUTHORIZED') =>
    grown(`parley_credentials_refused_total{credential="${credential}",code="${code}"}`)
  expect(await refused('token', 'INVALID_TOKEN')).toBe(1)
  expect(await refused('api_key')).toBe(1)
  expect(await refused('admin_key')).toBe(1)
  expect(await refused('none')).toBe(1)
})

test('responses are counted by status, those to unreadable requests included', async () => {
  const grown = await growth()
  for (const method of ['GET', 'OPTIONS']) await fetch(`${world().url}/nowhere`, { method })
  await exchange(world().url, 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(async () => (await grown('parley_http_responses_total{status="404"}')) === 3)
})

test('delivery is timed for events of this node, and of others', async () => {
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(other.stop)
  const [dora] = await world().users('dora')
  const { id: channelId } = await dora.channels.create({ type: 'group', name: 'Timed' })
  const client = centrifugeOf(world(), dora)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, topics.channel(world().appId, channelId))
  const grown = await growth()
  const startedAt = performance.now()
  await dora.messages.send({ channelId, text: 'from here' })
  await listener.untilType('message.new')
  const there = other.api({ token: dora.token })
  await there.channels.update({ channelId, name: 'From there' })
  await listener.untilType('channel.updated')
  const count = (origin: string) => grown(`parley_delivery_seconds_count{origin="${origin}"}`)
  const sum = (origin: string) => grown(`parley_delivery_seconds_sum{origin="${origin}"}`)
  await until(async () => (await count('own')) === 1 && (await count('other')) === 1)
  const sums = await Promise.all(['own', 'other'].map(sum))
  expect(Math.min(...sums)).toBeGreaterThan(0)
  expect(Math.max(...sums)).toBeLessThan((performance.now() - startedAt) / 1_000)
  expect(await grown('parley_gaps_filled_total{reason="hint"}')).toBe(1)
  expect(await grown('parley_gaps_filled_total{reason="missed"}')).toBe(0)
})

test('an event without subscribers here is not timed', async () => {
  const [emil] = await world().users('emil')
  const { id: channelId } = await emil.channels.create({ type: 'group', name: 'Alone' })
  // The topic is kept for those who come back soon.
  const channel = topics.channel(world().appId, channelId)
  const socket = await terminatedLater(RawSocket.connect(world(), emil))
  await socket.ask({ id: 2, subscribe: { channel } })
  await socket.ask({ id: 3, unsubscribe: { channel } })
  const grown = await growth()
  await emil.messages.send({ channelId, text: 'to nobody' })
  await new Promise(setImmediate)
  expect(await grown('parley_delivery_seconds_count{origin="own"}')).toBe(0)
})

test('the listener is up once it receives its own notes', async () => {
  await until(async () => sample(await shown(), 'parley_listener_up') === 1)
  expect(sample(await shown(), 'parley_listener_lag_seconds')).toBeLessThan(60)
})

test('calls count for their app, also those over its limit', async () => {
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    rateLimits: { tokens: 0, messages: 0, requests: 3 },
  })
  onTestFinished(node.stop)
  const [fay] = await node.users('fay')
  const calls = vi.spyOn(node.metrics, 'countAppCall')
  const refused = vi.spyOn(node.metrics, 'countAppRateLimited')
  for (let call = 0; call < 5; call++) await fay.channels.list().catch(() => {})
  expect(calls.mock.calls).toEqual(Array(5).fill([node.appId]))
  expect(refused.mock.calls).toEqual(Array(2).fill([node.appId]))
})

test('one process shows the metrics of the service, and another after its end', async () => {
  const serve = async () => {
    const metrics = createMetrics()
    const server = await startMetricsServer(metrics, {
      db: world().pool,
      databaseUrl: world().databaseUrl,
      poolSize: 3,
      port: 0,
      host: '127.0.0.1',
    })
    onTestFinished(server.stop)
    const read = async () => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
    return { read, stop: server.stop }
  }
  const [one, two] = [await serve(), await serve()]
  await world().db`insert into staged_jobs (task, payload) values ('stuck', '{}')`
  onTestFinished(async () => void (await world().db`delete from staged_jobs where task = 'stuck'`))
  const series = 'parley_jobs_waiting{task="stuck",state="waiting"}'
  // The process of another test may be about to end.
  await until(async () => sample(await one.read(), series) === 1)
  const texts = [await one.read(), await two.read(), await one.read()]
  expect(texts.map((text) => sample(text, series))).toEqual([1, 0, 1])
  for (const text of texts) {
    expect(sample(text, 'parley_database_up')).toBe(1)
    expect(sample(text, 'parley_database_pool_size')).toBe(3)
  }
  const [first = '', second = ''] = texts
  expect(first).toMatch(/^parley_staged_jobs_oldest_seconds [\d.e-]+$/m)
  expect(second).not.toContain('parley_database_connections{')
  await one.stop()
  await until(async () => sample(await two.read(), series) === 1)
  expect(second).toMatch(/parley_build_info\{version="[\d.]+",node="[\d.]+"\} 1/)
})

test('a scrape that waits for the database takes nothing from another one', async () => {
  const metrics = createMetrics()
  let answer = (_isReporter: boolean) => {}
  const asked = [Promise.resolve(true), new Promise<boolean>((resolve) => (answer = resolve))]
  const isReporter = () => asked.shift() ?? Promise.resolve(false)
  const update = observeDatabase(metrics, { db: world().pool, poolSize: 1, isReporter })
  await update()
  const waiting = update()
  const texts = [await metrics.registry.metrics()]
  answer(false)
  await waiting
  texts.push(await metrics.registry.metrics())
  const shows = (text: string) => text.includes('parley_database_connections{')
  expect(texts.map(shows)).toEqual([true, false])
})

test('a collector that fails ends one scrape, and not the process', async () => {
  const texts = [
    async () => ({ text: 'fine 1', contentType: 'text/plain' }),
    () => Promise.reject(new Error('a bug')),
  ]
  const read = () => texts.pop()?.() ?? Promise.reject(new Error('no more'))
  const server = await startTextServer({ port: 0, host: '127.0.0.1', read })
  onTestFinished(server.stop)
  const scrape = () => fetch(`http://127.0.0.1:${server.port}/metrics`)
  expect((await scrape()).status).toBe(500)
  const next = await scrape()
  expect(await next.text()).toBe('fine 1')
  expect(next.headers.get('x-content-type-options')).toBe('nosniff')
})

test('a count that takes too long is left out, and the database is shown as up', async () => {
  const metrics = createMetrics()
  const db = createDb({
    url: world().databaseUrl,
    poolSize: 1,
    applicationName: 'parley-test-counts',
    patience: unhurried,
    onStatement: (statement) => {
      if (statement.includes('staged_jobs'))
        throw Object.assign(new Error('too slow'), { code: '57014' })
    },
  })
  onTestFinished(() => db.end({ timeout: 1 }))
  await observeDatabase(metrics, { db, poolSize: 1, isReporter: async () => true })()
  const text = await metrics.registry.metrics()
  expect(text).toContain('parley_database_up 1')
  expect(text).toMatch(/^parley_database_connections\{state="\w+"\} [1-9]/m)
  expect(text).not.toContain('parley_jobs_waiting{')
  // The ages are not shown as 0 either, as if nothing waited.
  expect(text).not.toMatch(/^parley_(staged_jobs|events)_oldest_seconds /m)
  expect(text).toMatch(/^parley_webhook_oldest_seconds \d/m)
  for (const [count, failed] of Object.entries({ jobs: 1, ages: 1, connections: 0 }))
    expect(sample(text, `parley_counts_failed_total{count="${count}"}`)).toBe(failed)
})

test('a silent database is shown as down before other work gives it up', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(proxy.stop)
  const metrics = createMetrics()
  const db = createDb({
    url: proxy.url,
    poolSize: 1,
    applicationName: 'parley-test-silent',
    patience: unhurried,
  })
  onTestFinished(() => db.end({ timeout: 0 }))
  const lease = db.ping().then(() => true)
  const update = observeDatabase(metrics, { db, poolSize: 1, isReporter: () => lease })
  await lease
  proxy.silence()
  await update()
  expect(await metrics.registry.metrics()).toContain('parley_database_up 0')
}, 60_000)

test('a process that is not scraped leaves the metrics of the service to another', async () => {
  const open = (options?: { idleMs: number }) => {
    const lease = createMetricsLease(world().databaseUrl, options)
    onTestFinished(lease.release)
    return lease
  }
  const [forgotten, asked] = [open({ idleMs: 50 }), open()]
  // The process of another test may be about to end.
  await until(() => forgotten.isHeld())
  await until(() => asked.isHeld())
  expect(await forgotten.isHeld()).toBe(false)
  expect(await asked.isHeld()).toBe(true)
})
