import { topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { silentLog } from '../support/jobs.ts'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { textOf, useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

/** A log that keeps its warnings. */
function keepWarnings() {
  const warnings: { message: string; facts: Record<string, unknown> }[] = []
  const warn = (facts: object, message: string) =>
    void warnings.push({ message, facts: { ...facts } })
  return { log: { ...silentLog, warn }, warnings }
}

test('a refused delivery is sent again, and those after it in the channel wait', async () => {
  const { receiver } = current()
  const { send, texts, newChannel, receive, deliveries } = await newScene()
  const other = await newChannel()
  const refusals = [401, 404, 500]
  receiver.answerWith((response, one) =>
    answering((textOf(one) === 'first' && refusals.shift()) || 200)(response, one),
  )
  await send('first')
  await send('second')
  await send('elsewhere', other)
  startWorker()
  await receive(6)
  expect(texts().filter((text) => text !== 'elsewhere')).toEqual([
    'first',
    'first',
    'first',
    'first',
    'second',
  ])
  expect(texts().filter((text) => text === 'elsewhere')).toHaveLength(1)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  const attempts = (await deliveries()).map((each) => [each.attempts, each.error])
  expect(attempts).toEqual(
    expect.arrayContaining([
      [4, null],
      [1, null],
      [1, null],
    ]),
  )
})

test('an event that fails again and again does not hold up its channel for ever', async () => {
  const { receiver, world } = current()
  const { send, texts, deliveries, webhook } = await newScene()
  receiver.answerWith((response, one) =>
    answering(textOf(one) === 'poison' ? 500 : 200)(response, one),
  )
  await send('poison')
  await send('second')
  startWorker({ timings: { backOffMs: 0.02 } })
  await until(() => texts().includes('second'))
  expect(texts().filter((text) => text === 'poison').length).toBeGreaterThanOrEqual(4)
  await until(async () => (await deliveries()).some(({ status }) => status === 'failed'))
  const failed = (await deliveries()).find(({ status }) => status === 'failed')
  expect(failed).toMatchObject({ attempts: 11, responseStatus: 500, error: 'answered 500' })
  expect(failed?.nextAttemptAt).toBeNull()
  expect(await webhook()).toMatchObject({ enabled: true, disabledReason: null })
  const { registry } = world.metrics
  const counted = await registry.getSingleMetricAsString('parley_webhook_deliveries_total')
  for (const outcome of ['delivered', 'put_off', 'failed'])
    expect(counted).toMatch(new RegExp(`outcome="${outcome}"} [1-9]`))
})

test('a channel with many events that fail holds up no other channel', async () => {
  const { world, receiver } = current()
  const { appId, webhookId, channelId, send, texts, newChannel } = await newScene()
  const topic = topics.channel(appId, channelId)
  receiver.answerWith((response, one) =>
    answering(textOf(one) === 'poison' ? 500 : 200)(response, one),
  )
  await send('poison')
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    select ${appId}, ${webhookId}, e.topic, e."offset", e.type
    from events e
    where e.topic = ${topic}
      and e.type = 'message.new'`
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    select ${appId}, ${webhookId}, ${topic}, 100 + n, 'message.new'
    from generate_series(1, 1001) as n`
  await send('elsewhere', await newChannel())
  // The pause after the first failure is longer than the test.
  startWorker({ timings: { backOffMs: 3_600_000 } })
  await until(() => texts().includes('elsewhere'))
})

test('a receiver that crashes gets everything once it is back, in order', async () => {
  const { receiver } = current()
  const { log, warnings } = keepWarnings()
  const { send, texts, receive, webhook, deliveries } = await newScene()
  let crashes = 2
  receiver.answerWith((response, one) =>
    crashes-- > 0 ? response.socket?.destroy() : answering(200)(response, one),
  )
  for (const text of ['one', 'two', 'three']) await send(text)
  startWorker({ log })
  await receive(5)
  expect(texts()).toEqual(['one', 'one', 'one', 'two', 'three'])
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  expect((await webhook())?.failingSince).toBeNull()
  const said = warnings.filter(({ message }) => message === 'webhook failing')
  expect(said.map(({ facts }) => facts.error)).toEqual(['ECONNRESET'])
})

test('a receiver that does not answer in time is tried again, and says why', async () => {
  const { receiver } = current()
  const { backend, webhookId, receive, deliveries } = await newScene()
  receiver.answerWith(() => {})
  await backend.webhooks.test({ webhookId })
  startWorker({ timings: { webhookTimeoutMs: 100 } })
  await receive(2)
  const [delivery] = await deliveries()
  expect(delivery).toMatchObject({ responseStatus: null, error: 'no answer within 0.1 s' })
})

test('a receiver that switches protocols has failed, and is tried again', async () => {
  const { receiver } = current()
  const { backend, webhookId, receive, deliveries } = await newScene()
  const upgrade = 'HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'
  receiver.answerWith((response) => response.socket?.write(upgrade))
  await backend.webhooks.test({ webhookId })
  startWorker()
  await receive(2)
  const [delivery] = await deliveries()
  expect(delivery).toMatchObject({ responseStatus: null, error: 'closed without an answer' })
})

test('a dead receiver delays no other, and has at most four requests at once', async () => {
  const { receiver } = current()
  const dead = await newScene()
  const alive = await newScene()
  receiver.answerWith((response, one) =>
    one.path === dead.path ? undefined : answering(200)(response, one),
  )
  const channels = [dead.channelId]
  for (let n = 0; n < 5; n++) channels.push(await dead.newChannel())
  for (const channelId of channels) await dead.send('lost', channelId)
  startWorker()
  await dead.receive(4)
  for (const text of ['one', 'two', 'three']) await alive.send(text)
  await alive.receive(3)
  expect(alive.texts()).toEqual(['one', 'two', 'three'])
  expect(dead.received()).toHaveLength(4)
})

test('a webhook whose receiver is gone is disabled at once, and says so', async () => {
  const { receiver, world } = current()
  const { log, warnings } = keepWarnings()
  const { backend, webhookId, send, texts, receive, webhook } = await newScene()
  receiver.answerWith(answering(410))
  await send('one')
  await send('two')
  startWorker({ log })
  const disabled = await until(async () => {
    const each = await webhook()
    return each?.enabled === false && each
  })
  expect(disabled).toMatchObject({ disabledReason: 'gone' })
  await until(() => warnings.some(({ message }) => message === 'webhook disabled'))
  expect(texts()).toEqual(['one'])
  expect(
    await world.metrics.registry.getSingleMetricAsString('parley_webhooks_disabled_total'),
  ).toMatch(/reason="gone"} [1-9]/)
  receiver.behave()
  const enabled = await backend.webhooks.update({ webhookId, enabled: true })
  expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failingSince: null })
  await receive(2)
  expect(texts()).toEqual(['one', 'two'])
})

test('a webhook that has failed for five days is disabled, after four it is not', async () => {
  const { receiver, world } = current()
  const { log, warnings } = keepWarnings()
  const [old, young] = [await newScene(), await newScene()]
  receiver.answerWith(answering(500))
  const failFor = ({ appId }: typeof old, ago: string) => world.db`
    update webhooks
    set failing_since = now() - ${ago}::interval
    where app_id = ${appId}`
  await failFor(old, '5 days 1 minute')
  await failFor(young, '4 days 23 hours')
  const since = (await young.webhook())?.failingSince
  await old.send('one')
  await young.send('one')
  startWorker({ log })
  await until(async () => (await old.webhook())?.enabled === false)
  expect(await old.webhook()).toMatchObject({ disabledReason: 'failing' })
  await young.receive(5)
  const failing = { enabled: true, disabledReason: null, failingSince: since }
  expect(await young.webhook()).toMatchObject(failing)
  await until(() => warnings.some(({ message }) => message === 'webhook disabled'))
  const said = warnings.find(({ message }) => message === 'webhook disabled')
  expect(said?.facts).toMatchObject({
    app: expect.any(String),
    webhookId: old.webhookId,
    reason: 'failing',
  })
  // A short failure does not count as one of five days.
  expect(old.received().length).toBeGreaterThanOrEqual(4)
})

test('a delivery is sent again on request, whatever became of it', async () => {
  const { backend, webhookId, send, texts, receive, deliveries } = await newScene()
  startWorker()
  await send('one')
  await receive(1)
  const delivery = await until(async () =>
    (await deliveries()).find(({ status }) => status === 'delivered'),
  )
  const again = await backend.webhooks.retry({ webhookId, deliveryId: delivery.id })
  expect(again).toMatchObject({ id: delivery.id, status: 'pending', attempts: 0 })
  const [first, second] = await receive(2)
  expect(texts()).toEqual(['one', 'one'])
  expect(first?.headers['webhook-id']).toBe(second?.headers['webhook-id'])
})

test('a replay sends the events since a time again, and no earlier ones', async () => {
  const { world } = current()
  const { backend, webhookId, send, texts, receive, appId } = await newScene()
  await send('long ago')
  await world.db`
    update events
    set created_at = created_at - interval '2 hours'
    where topic like ${`%:${appId}:%`}`
  await send('one')
  await send('two')
  startWorker()
  await receive(2)
  const replay = (hours: number) =>
    backend.webhooks.replay({
      webhookId,
      since: new Date(Date.now() - hours * 3_600_000).toISOString(),
    })
  await replay(1)
  await receive(4)
  expect(texts()).toEqual(['one', 'two', 'one', 'two'])
  await replay(3)
  await receive(7)
  expect(texts().slice(4)).toEqual(['long ago', 'one', 'two'])
})
