import { topics } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { startMetricsServer } from '@parley/server/http/metrics-server'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { erased } from './support/cleanup.ts'
import { sample } from './support/scrape.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld({ timings: { reconcileMs: 600_000 } })

let server: Awaited<ReturnType<typeof startMetricsServer>>
beforeAll(async () => {
  const { metrics, pool: db, databaseUrl } = world()
  const given = { db, databaseUrl, poolSize: 10, port: 0, host: '127.0.0.1' }
  server = await startMetricsServer(metrics, given)
})
afterAll(() => server.stop())
const scrape = async () => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()

test('the oldest event and the oldest staged job are shown by their own ages', async () => {
  const { db, appId } = world()
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  for (const text of ['old', 'young']) await ana.messages.send({ channelId: id, text })
  await db`
    update events
    set created_at = now() - interval '1 hour'
    where topic = ${topics.channel(appId, id)}
      and "offset" = 1`
  // No worker takes it, since none knows its task.
  await db`
    insert into staged_jobs (task, payload, created_at)
    values ('unknown', '{}', now() - interval '10 minutes')`
  onTestFinished(async () => void (await db`delete from staged_jobs where task = 'unknown'`))
  const text = await scrape()
  expect(sample(text, 'parley_events_oldest_seconds')).toBeGreaterThan(3_000)
  const staged = ['parley_staged_jobs_oldest_seconds', 'parley_jobs_oldest_seconds{task="unknown"}']
  for (const name of staged) {
    expect(sample(text, name)).toBeGreaterThan(590)
    expect(sample(text, name)).toBeLessThan(3_000)
  }
})

test('metrics leave out disabled webhooks, erased users and connections of others', async () => {
  const { backend, db, appId, databaseUrl } = world()
  const { id: webhookId } = await backend.webhooks.create({
    ...{ url: 'https://8.8.8.8/hook', events: ['message.new'] },
  })
  await backend.webhooks.test({ webhookId })
  await db`
    update webhook_deliveries
    set
      created_at = now() - interval '1 hour',
      next_attempt_at = now() - interval '1 hour'
    where app_id = ${appId}`
  const seen = async () => {
    const text = await scrape()
    const of = (name: string) => sample(text, `parley_${name}`)
    return { isLate: of('webhook_oldest_seconds') > 3_000, failing: of('webhooks_failing') }
  }
  expect(await seen()).toEqual({ isLate: true, failing: 0 })
  await db`update webhooks set failing_since = now() where app_id = ${appId}`
  expect(await seen()).toEqual({ isLate: true, failing: 1 })
  await backend.webhooks.update({ webhookId, enabled: false })
  expect(await seen()).toEqual({ isLate: false, failing: 0 })

  await world().user('shown-once')
  await backend.users.delete({ userId: 'shown-once' })
  await erased(world())
  expect(sample(await scrape(), 'parley_purge_backlog{kind="users"}')).toBe(0)

  const other = connectOnce(databaseUrl, { applicationName: 'not-ours' })
  onTestFinished(() => other.end())
  await other`begin`
  expect(sample(await scrape(), 'parley_database_connections{state="idle in transaction"}')).toBe(0)
})

test('counters that alerts read by reason start at 0, so that a first burst shows', async () => {
  const fresh = await createWorld({ timings: { reconcileMs: 600_000 } })
  onTestFinished(fresh.stop)
  const lines = (await fresh.metrics.registry.metrics()).split('\n')
  for (const reason of ['hint', 'reorder', 'subscribe', 'missed'])
    expect(lines).toContain(`parley_gaps_filled_total{reason="${reason}"} 0`)
  for (const reason of ['unread', 'memory'])
    expect(lines).toContain(`parley_slow_consumers_total{reason="${reason}"} 0`)
  for (const task of ['events', 'audit'])
    expect(lines).toContain(`parley_cleanup_failures_total{task="${task}"} 0`)
})
