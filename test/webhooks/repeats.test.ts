import { topics } from '@parley/contract'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks } from '@parley/server/jobs/webhooks/leases'
import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, deliverContext, newScene } = useWebhooks()

/** A receiver that keeps the first request of an app waiting until the test lets it answer. */
function holdFirst(path: string) {
  let release = () => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  current().receiver.answerWith(async (response, one) => {
    const isFirst = current().receiver.at(path).length === 1
    if (one.path === path && isFirst) await isReleased
    answering(200)(response, one)
  })
  return release
}

test('a delivery that is to be sent again while it is on its way is sent again', async () => {
  const { backend, webhookId, path, send, texts, receive, deliveries } = await newScene()
  const release = holdFirst(path)
  startWorker()
  await send('one')
  await receive(1)
  const [delivery] = await deliveries()
  if (!delivery) throw new Error('what was sent is no delivery')
  await backend.webhooks.retry({ webhookId, deliveryId: delivery.id })
  release()
  await receive(2)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
  expect(texts()).toEqual(['one', 'one'])
  expect(await deliveries()).toMatchObject([{ id: delivery.id, attempts: 1 }])
})

test('a delivery that is to be sent again shows no earlier error', async () => {
  const { backend, webhookId, send, deliveries } = await newScene()
  current().receiver.answerWith(answering(500))
  await send('one')
  startWorker({ timings: { backOffMs: 600_000 } })
  const failed = async () => (await deliveries()).find(({ error }) => error !== null)
  const { id: deliveryId } = await until(failed)
  expect(await backend.webhooks.retry({ webhookId, deliveryId })).toMatchObject({
    status: 'pending',
    error: null,
  })
})

test('a delivery that an outage interrupted is sent again once the database answers', async () => {
  const { world, receiver } = current()
  const { send, receive, deliveries } = await newScene()
  let failures = 0
  let isOut = false
  const gone = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
  const use: typeof world.pool.use = (...given) => {
    if (!isOut) return world.pool.use(...given)
    failures += 1
    return Promise.reject(gone)
  }
  receiver.answerWith((response) => {
    isOut = true
    response.writeHead(200).end()
  })
  await send('one')
  startWorker({ db: { ...world.pool, use } })
  await until(() => failures > 3)
  receiver.behave()
  isOut = false
  // This is long before the end of its lease.
  await receive(2)
  await until(async () => (await deliveries()).every(({ status }) => status === 'delivered'))
})

test('while outcomes cannot be stored, a delivery is sent again less and less often', async () => {
  const { world, receiver } = current()
  const { send } = await newScene()
  const full = Object.assign(new Error('no space left'), { code: '53100' })
  const use: typeof world.pool.use = (work, until) =>
    world.pool.use((db, deadline) => {
      const apply = (sql: typeof db, self: unknown, given: [TemplateStringsArray]) =>
        `${given[0]}`.includes('update webhook_deliveries')
          ? Promise.reject(full)
          : Reflect.apply(sql, self, given)
      return work(new Proxy(db, { apply }), deadline)
    }, until)
  const times: number[] = []
  receiver.answerWith((response) => {
    times.push(performance.now())
    response.writeHead(200).end()
  })
  await send('one')
  startWorker({ db: { ...world.pool, use } })
  const [, , , fourth = 0, fifth = 0] = await until(() => times.length >= 5 && times)
  // The pauses before were of one, two and four polls of 50 ms, this one is of eight.
  expect(fifth - fourth).toBeGreaterThan(7 * 50)
})

async function leaseOf(webhookId: string) {
  const query = { isFailing: false, most: 100, leaseMs: 60_000, restMs: 10_000, served: [] }
  const leases = await leaseWebhooks(current().world.pool, query)
  return leases.find(({ id }) => id === webhookId) ?? expect.unreachable()
}

test('a worker whose webhook another one has leased sends nothing more of it', async () => {
  const { world, receiver } = current()
  const { backend, webhookId, received } = await newScene()
  await backend.webhooks.test({ webhookId })
  const lease = await leaseOf(webhookId)
  await world.db`
    update webhooks
    set leased_by = gen_random_uuid()
    where id = ${webhookId}`
  const request = createGuardedRequest({ allowedHosts: [receiver.host] })
  await deliverDue({ ...deliverContext(), request }, lease)
  expect(received()).toEqual([])
  await deliverDue({ ...deliverContext(), request }, await leaseAgain(webhookId))
  expect(received()).toHaveLength(1)
})

/** Leases the webhook again, as if the lease of the other worker had ended. */
async function leaseAgain(webhookId: string) {
  await current().world.db`
    update webhooks
    set leased_until = now()
    where id = ${webhookId}`
  return leaseOf(webhookId)
}

test('all events of a channel that are not kept any more are given up in one turn', async () => {
  const { world } = current()
  const { appId, webhookId, channelId, deliveries } = await newScene()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, topic, "offset", event_type)
    select ${appId}, ${webhookId}, ${topics.channel(appId, channelId)}, "offset", 'message.new'
    from generate_series(1001, 1003) as "offset"`
  await deliverDue(deliverContext(), await leaseOf(webhookId))
  expect((await deliveries()).map(({ status }) => status)).toEqual(['failed', 'failed', 'failed'])
})

test('a receiver that asks for a pause is not sent a delivery again before its end', async () => {
  const { backend, webhookId, deliveries } = await newScene()
  current().receiver.answerWith(answering(429, { 'retry-after': '600' }))
  await backend.webhooks.test({ webhookId })
  startWorker()
  const tried = await until(async () => (await deliveries()).find(({ attempts }) => attempts === 1))
  const pauseMs = Date.parse(tried.nextAttemptAt ?? '') - Date.parse(tried.createdAt)
  expect(pauseMs).toBeGreaterThanOrEqual(600_000)
})
