import { randomUUID } from 'node:crypto'
import { topics } from '@parley/contract'
import { releaseWebhook } from '@parley/server/jobs/webhooks/leases'
import { expect, test } from 'vitest'
import { stopClock } from '../support/clock.ts'
import { upTo } from '../support/events.ts'
import { silentLog } from '../support/jobs.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('deliveries of a worker that died are sent by another one after its lease', async () => {
  const { world, receiver } = current()
  const { send, receive, texts, deliveries, appId } = await newScene()
  let isDead = false
  const use: typeof world.pool.use = (...given) =>
    isDead ? Promise.reject(new Error('the worker is dead')) : world.pool.use(...given)
  receiver.answerWith(() => {})
  await send('one')
  await send('two')
  const stop = startWorker({ db: { ...world.pool, use } })
  await receive(1)
  // The worker can neither store the outcome nor return its lease.
  isDead = true
  await stop()
  const leases = await world.db`
    update webhooks
    set leased_until = now()
    where app_id = ${appId}
      and leased_until > now() + interval '1 minute'
    returning leased_by is not null as "isLeased"`
  expect(leases).toEqual([{ isLeased: true }])
  receiver.behave()
  startWorker()
  const [first, second] = await receive(3)
  expect(texts()).toEqual(['one', 'one', 'two'])
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
})

test('a delivery that is cut off by the end of its worker counts as no attempt', async () => {
  const { receiver } = current()
  const { send, receive, deliveries, webhook } = await newScene()
  receiver.answerWith(() => {})
  await send('one')
  const stop = startWorker()
  await receive(1)
  await stop()
  expect(await deliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
  expect((await webhook())?.failingSince).toBeNull()
  receiver.behave()
  startWorker()
  await receive(2)
})

test('several workers send each event once, those of a channel in order', async () => {
  const { receiver } = current()
  const { send, received, receive, newChannel, deliveries } = await newScene()
  receiver.answerWith((response) => void setImmediate(() => response.writeHead(200).end()))
  const channels = [await newChannel(), await newChannel(), await newChannel()]
  // A send that a busy machine holds up for long is found late, and overtaken.
  const timings = { pollMs: 10, webhookOverlapMs: 60_000 }
  for (let n = 0; n < 3; n++) startWorker({ timings })
  await Promise.all(
    channels.map(async (channelId) => {
      for (const n of upTo(8)) await send(`${n}`, channelId)
    }),
  )
  await receive(24)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  expect(received()).toHaveLength(24)
  for (const channelId of channels) {
    const revs = received().flatMap(({ data }) => (data.channelId === channelId ? [data.rev] : []))
    expect(revs).toEqual(upTo(Number(revs.at(-1)), Number(revs[0])))
  }
})

test('a webhook is served by one worker at a time', async () => {
  const { receiver } = current()
  const { send, receive, received, webhook, webhookId, appId } = await newScene()
  receiver.answerWith(() => {})
  await send('one')
  startWorker()
  await receive(1)
  // The lease of this worker has ended meanwhile.
  const late = { id: webhookId, appId, failingSince: null, replaySince: null }
  await releaseWebhook(current().world.pool, { ...late, leasedBy: randomUUID() })
  const other = await newScene()
  receiver.answerWith((response) => response.writeHead(200).end())
  await other.send('two')
  startWorker()
  await other.receive(1)
  expect(received()).toHaveLength(1)
  expect((await webhook())?.failingSince).toBeNull()
})

test('a clock that was set back stops no webhook that was served before', async () => {
  const { world } = current()
  const { send, receive, appId } = await newScene()
  startWorker()
  await send('one')
  await receive(1)
  await until(async () => {
    const released = await world.db`
      update webhooks
      set leased_until = now() + interval '1 hour'
      where app_id = ${appId}
        and leased_by is null
      returning id`
    return released.length > 0
  })
  await send('two')
  await receive(2)
  // A worker died that had leased it just before, and it was enabled an hour ago.
  await world.db`
    update webhooks
    set
      leased_by = gen_random_uuid(),
      leased_until = now() + interval '1 hour',
      active_since = now() + interval '1 hour'
    where app_id = ${appId}`
  await until(async () => {
    const reset = await world.db`
      select from webhooks
      where app_id = ${appId}
        and active_since <= now()`
    return reset.length > 0
  })
  await send('three')
  await receive(3)
})

test('a delivery that was due when the clock was set back is sent at once', async () => {
  const { world } = current()
  const { appId, backend, webhookId, receive } = await newScene()
  await backend.webhooks.test({ webhookId })
  await world.db`
    update webhook_deliveries
    set next_attempt_at = now() + interval '1 hour'
    where app_id = ${appId}`
  startWorker()
  await receive(1)
})

test('events committed late are found, also after the clock was set back', async () => {
  const { world } = current()
  const { receive, texts, appId, channelId } = await newScene()
  await world.db`
    update webhooks
    set active_since = now() - interval '1 hour'
    where app_id = ${appId}`
  await world.db`
    insert into service (key, value)
    values ('webhooks_collected_until', (now() + interval '1 hour')::text)
    on conflict (key) do update
    set value = excluded.value`
  await world.db`
    insert into events (topic, "offset", type, envelope, created_at)
    values (
      ${topics.channel(appId, channelId)}, 901, 'message.new',
      ${JSON.stringify({ type: 'message.new', payload: { message: { text: 'late' } } })},
      now() - interval '20 seconds'
    )`
  startWorker()
  await receive(1)
  expect(texts()).toEqual(['late'])
})

test('a delivery that reuses the number of another has another webhook-id', async () => {
  const { world } = current()
  const { backend, webhookId, appId, receive, deliveries } = await newScene()
  startWorker()
  const { id } = await backend.webhooks.test({ webhookId })
  await until(async () => (await deliveries())[0]?.status === 'delivered')
  // A restored backup may have no row with this number yet.
  await world.db`delete from webhook_deliveries where app_id = ${appId}`
  await world.db`
    insert into webhook_deliveries (id, app_id, webhook_id, event_type)
    values (${id}::bigint, ${appId}, ${webhookId}, 'webhook.test')`
  const ids = (await receive(2)).map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(2)
})

test('an event that is not kept any more is no failure of its receiver', async () => {
  const { world } = current()
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
  const { appId, webhookId, channelId, receive, send, webhook, deliveries } = await newScene()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    values (${appId}, ${webhookId}, ${topics.channel(appId, channelId)}, 1000, 'message.new')`
  await send('kept', channelId)
  startWorker({ log })
  await receive(1)
  await until(async () => (await deliveries()).every(({ status }) => status !== 'pending'))
  expect((await deliveries()).map(({ status, attempts }) => [status, attempts]).sort()).toEqual([
    ['delivered', 1],
    ['failed', 1],
  ])
  expect((await webhook())?.failingSince).toBeNull()
  expect(warnings).toEqual([])
})

test('a receiver that fails gets one request at a time', async () => {
  const { world, receiver } = current()
  const { webhookId, newChannel, channelId, send, receive } = await newScene()
  const channels = [channelId, ...(await Promise.all([newChannel(), newChannel(), newChannel()]))]
  for (const to of channels) await send('hello', to)
  await world.db`
    update webhooks
    set failing_since = now()
    where id = ${webhookId}`
  let [open, mostOpen] = [0, 0]
  receiver.answerWith((response) => {
    mostOpen = Math.max(mostOpen, ++open)
    // The other requests of a turn would begin meanwhile.
    setTimeout(() => {
      open -= 1
      response.writeHead(500).end()
    }, 50)
  })
  startWorker({ timings: { backOffMs: 3_600_000 } })
  await receive(channels.length)
  expect(mostOpen).toBe(1)
})

test('a turn ends after a third of its lease, before another worker may send', async () => {
  const { world, receiver } = current()
  const { webhookId, channelId, send } = await newScene()
  const timings = { webhookLeaseMs: 60_000 }
  for (const text of ['one', 'two', 'three']) await send(text, channelId)
  const clock = stopClock()
  const leases: string[] = []
  receiver.answerWith(async (response) => {
    const [row] = await world.db<{ leasedBy: string }[]>`
      select leased_by from webhooks where id = ${webhookId}`
    leases.push(row?.leasedBy ?? '')
    clock.putForward((leases.length * timings.webhookLeaseMs) / 3 + leases.length)
    response.writeHead(200).end()
  })
  startWorker({ timings })
  await until(() => leases.length === 3)
  expect(new Set(leases).size).toBe(3)
})
