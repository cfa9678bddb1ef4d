import { topics } from '@parley/contract'
import { observeDatabase } from '@parley/server/core/database-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { createDb } from '@parley/server/db/client'
import { startMetricsServer } from '@parley/server/http/metrics-server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { page, previewsFrom, servePages } from './support/pages.ts'
import { serveProvider } from './support/provider.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { refusal } from './support/refusal.ts'
import { sample } from './support/scrape.ts'
import { unhurried, until } from './support/until.ts'
import { createWorld, type World } from './support/world.ts'

let web: Awaited<ReturnType<typeof servePages>>
let provider: Awaited<ReturnType<typeof serveProvider>>
let world: World
let url = ''
let metricsServer: Awaited<ReturnType<typeof startMetricsServer>>
beforeAll(async () => {
  web = await servePages({ '/page': page('<title>Page</title>') })
  provider = await serveProvider()
  world = await createWorld({
    // An event that this node compares with the log at that moment could count as filled.
    timings: { reconcileMs: 600_000 },
    jobs: { push: provider.settings, previews: previewsFrom(web) },
  })
  metricsServer = await startMetricsServer(world.metrics, {
    db: world.pool,
    databaseUrl: world.databaseUrl,
    poolSize: 10,
    port: 0,
    host: '127.0.0.1',
  })
  url = `http://127.0.0.1:${metricsServer.port}/metrics`
})
afterAll(async () => {
  await metricsServer?.stop()
  await world.stop()
  await Promise.all([web.stop(), provider.stop()])
})

const scrape = async () => {
  const response = await fetch(url)
  expect(response.headers.get('content-type')).toContain('text/plain')
  return response.text()
}

test('metrics count and time operations, pushes, previews and jobs', async () => {
  await idle(world)
  const before = await scrape()
  const [ana] = await world.users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  await ana.messages.send({ channelId, text: `${web.url}/page` })
  await idle(world)
  await ana.messages.send({ channelId, text: `${web.url}/page again` })
  await refusal(ana.messages.send({ channelId: crypto.randomUUID(), text: 'nowhere' }))
  await idle(world)
  const text = await scrape()
  const growth = (name: string) => sample(text, name) - sample(before, name)
  expect(growth('parley_operation_seconds_count{operation="messages.send",outcome="ok"}')).toBe(2)
  expect(
    growth('parley_operation_seconds_count{operation="messages.send",outcome="NOT_FOUND"}'),
  ).toBe(1)
  expect(text).toMatch(
    /parley_operation_seconds_bucket\{le="0.25",operation="messages.send",outcome="ok"\} \d/,
  )
  expect(growth('parley_pushes_total{outcome="accepted"}')).toBe(3)
  expect(growth('parley_previews_total{outcome="found"}')).toBe(1)
  expect(growth('parley_previews_total{outcome="cached"}')).toBe(1)
  expect(text).toMatch(/parley_jobs_total\{task="push-message",outcome="done"\} \d/)
  // The series begins at 0, so that the first job that is given up is an increase.
  expect(text).toContain('parley_jobs_total{task="preview",outcome="given_up"} 0')
  expect(text).toMatch(/parley_database_connections\{state="idle"\} \d/)
  expect(text).toContain('parley_database_up 1')
  expect(text).toContain('parley_database_pool_size 10')
  expect(text).toContain('process_cpu_seconds_total')
})

test('metrics show waiting jobs and the age of the oldest', async () => {
  await idle(world)
  onTestFinished(async () => void (await world.db`delete from graphile_worker._private_jobs`))
  await world.db`
    select
      graphile_worker.add_job('unknown', '{}', run_at := now() - interval '5 minutes'),
      graphile_worker.add_job('unknown', '{}', run_at := now() - interval '1 minute')`
  const text = await scrape()
  expect(text).toContain('parley_jobs_waiting{task="unknown",state="waiting"} 2')
  expect(text).toMatch(/parley_jobs_oldest_seconds\{task="unknown"\} 30\d/)
})

test('channels that an import is filling are no backlog of the cleanup', async () => {
  const backlog = async () => sample(await scrape(), 'parley_purge_backlog{kind="channels"}')
  const before = await backlog()
  await world.user('filled')
  await world.db`
    insert into channels (id, app_id, cid, type, created_by, deleted_at)
    select gen_random_uuid(), ${world.appId}, 'group:filled', 'group', 'filled', 'infinity'`
  expect(await backlog()).toBeLessThanOrEqual(before)
})

test('a job due later has no age; one on its last attempt counts as waiting', async () => {
  await idle(world)
  onTestFinished(async () => void (await world.db`delete from graphile_worker._private_jobs`))
  await world.db`
    select graphile_worker.add_job('later', '{}', run_at := now() + interval '5 minutes'),
      graphile_worker.add_job('last', '{}', run_at := now() - interval '5 minutes'),
      graphile_worker.add_job('dead', '{}', run_at := now() - interval '5 minutes')`
  await world.db`
    update graphile_worker._private_jobs
    set attempts = max_attempts,
      locked_at = case when task_id = (
        select id from graphile_worker._private_tasks where identifier = 'last'
      ) then now() end
    where run_at < now()`
  const text = await scrape()
  const waiting = (task: string, state: string) =>
    sample(text, `parley_jobs_waiting{task="${task}",state="${state}"}`)
  expect([waiting('later', 'waiting'), waiting('last', 'waiting')]).toEqual([1, 1])
  expect([waiting('last', 'dead'), waiting('dead', 'dead'), waiting('dead', 'waiting')]).toEqual([
    0, 1, 0,
  ])
  expect(sample(text, 'parley_jobs_oldest_seconds{task="later"}')).toBe(0)
  expect(text).not.toContain('parley_jobs_oldest_seconds{task="dead"}')
  await world.db`delete from graphile_worker._private_jobs`
  const emptied = await scrape()
  // Other tasks have jobs at any time: the cleanup has one every minute.
  expect(emptied).not.toMatch(/parley_jobs_\w+\{task="(last|later|dead)"/)
})

test('metrics count sockets, published events, deliveries and filled gaps', async () => {
  await idle(world)
  const other = await createWorld({ databaseUrl: world.databaseUrl })
  onTestFinished(() => other.stop())
  const [dora, emil] = await world.users('dora', 'emil')
  const { id: channelId } = await dora.channels.create({
    type: 'group',
    name: 'Live',
    memberIds: ['emil'],
  })
  const clients = [centrifugeOf(world, dora), centrifugeOf(world, emil)]
  const observers = await Promise.all(
    clients.map((client) => listen(client, topics.channel(world.appId, channelId))),
  )
  const openSockets = 'parley_sockets_open{transport="websocket"}'
  const before = await scrape()
  expect(sample(before, openSockets)).toBe(2)

  await dora.messages.send({ channelId, text: 'from here' })
  // A hint that goes to all nodes has no event: they read it from the log.
  await other.api({ token: dora.token }).channels.update({ channelId, name: 'From another node' })
  for (const observer of observers) await observer.untilType('channel.updated')
  const after = await scrape()
  const growth = (name: string) => sample(after, name) - sample(before, name)
  expect(growth('parley_events_total')).toBe(1)
  expect(growth('parley_deliveries_total')).toBe(4)
  expect(growth('parley_gaps_filled_total{reason="hint"}')).toBe(1)

  for (const client of clients) client.disconnect()
  await until(async () => sample(await scrape(), openSockets) === 0)
})

test('metrics show how many callers wait for a database connection', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const borrowed = Array.from({ length: 13 }, () => world.pool.use(() => released))
  const series = 'parley_database_pool_waiting'
  const scraped = scrape()
  // The server's own work may wait as well, so their number does not show that this is measured.
  const { registry } = world.metrics
  await until(async () => sample(await registry.getSingleMetricAsString(series), series) >= 3)
  release()
  await Promise.all(borrowed)
  expect(sample(await scraped, series)).toBeGreaterThanOrEqual(3)
  await until(async () => sample(await scrape(), series) === 0)
})

test('a database that does not answer is shown as down, and as up once it is back', async () => {
  const registry = createMetrics()
  let isReachable = false
  const db = createDb({
    url: world.databaseUrl,
    poolSize: 1,
    applicationName: 'parley-test-metrics',
    patience: unhurried,
    onStatement: () => {
      if (!isReachable) throw Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' })
    },
  })
  onTestFinished(() => db.end({ timeout: 1 }))
  const update = observeDatabase(registry, { db, poolSize: 1, isReporter: async () => true })
  const isUp = async () => {
    await update()
    return registry.registry.getSingleMetricAsString('parley_database_up')
  }
  expect(await isUp()).toContain('parley_database_up 0')
  isReachable = true
  expect(await isUp()).toContain('parley_database_up 1')
})

test('metrics show for how long the event loop was blocked', async () => {
  const longest = async () =>
    sample(await scrape(), 'parley_event_loop_delay_seconds{percentile="100"}')
  const hold = () => {
    const end = performance.now() + 300
    while (performance.now() < end);
  }
  // The first moments after a collection are not measured.
  const held = await until(async () => {
    await fetch(url.replace('/metrics', '/'))
    hold()
    return longest().then((seconds) => seconds > 0.25 && seconds)
  })
  expect(held).toBeLessThan(60)
  await until(async () => (await longest()) < held)
  const text = await scrape()
  for (const percentile of ['50', '90', '99', '99.9'])
    expect(text).toContain(`parley_event_loop_delay_seconds{percentile="${percentile}"}`)
})

test('the metrics port serves only GET /metrics', async () => {
  const elsewhere = await fetch(url.replace('/metrics', '/'))
  expect(elsewhere.status).toBe(404)
  expect(elsewhere.headers.get('x-content-type-options')).toBe('nosniff')
  expect((await fetch(url, { method: 'POST' })).status).toBe(404)
})

test('metrics show the age of the oldest event that a webhook is still to be sent', async () => {
  const { appId, backend, db } = world
  const { id: webhookId } = await backend.webhooks.create({
    url: 'https://example.com/hook',
    events: ['workspace.*'],
  })
  onTestFinished(async () => void (await backend.webhooks.delete({ webhookId })))
  const ages = { delivered: 3_600, pending: 300, retrying: 7_200 }
  for (const [status, age] of Object.entries(ages))
    await db`
      insert into webhook_deliveries
        (app_id, webhook_id, event_type, status, attempts, next_attempt_at, created_at)
      values (
        ${appId}, ${webhookId}, 'webhook.test', ${status}, 1,
        now() + interval '1 day', now() - ${age} * interval '1 second'
      )`
  expect(await scrape()).toMatch(/^parley_webhook_oldest_seconds 3\d\d\b/m)
})
