import { topics } from '@parley/contract'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks, releaseWebhook } from '@parley/server/jobs/webhooks/leases'
import { expect, test } from 'vitest'
import { useWebhooks } from './fixture.ts'

const { current, deliverContext, newScene } = useWebhooks()

test('a clock that is set back a little ends no lease of a worker that lives', async () => {
  const { world } = current()
  const { webhookId, appId } = await newScene()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, event_type)
    values (${appId}, ${webhookId}, 'webhook.test')`
  const leaseMs = 60_000
  const query = { isFailing: false, most: 100, leaseMs, restMs: 10_000 }
  const leasedAfterSetBack = async (milliseconds: number) => {
    await world.db`
      update webhooks
      set
        leased_by = gen_random_uuid(),
        leased_until = now() + ${leaseMs + milliseconds} * interval '1 millisecond'
      where app_id = ${appId}`
    const leases = await leaseWebhooks(world.pool, query)
    return leases.filter(({ id }) => id === webhookId).length
  }
  expect(await leasedAfterSetBack(5_000)).toBe(0)
  expect(await leasedAfterSetBack(leaseMs + 5_000)).toBe(1)
})

test('a webhook in whose line all waits rests the longer the more of it was read', async () => {
  const { world } = current()
  const { webhookId, appId, channelId } = await newScene()
  const topic = topics.channel(appId, channelId)
  // The first one has failed, and is tried again in an hour.
  await world.db`
    insert into webhook_deliveries (
      app_id, webhook_id, topic, "offset", event_type, next_attempt_at
    )
    select ${appId}, ${webhookId}, ${topic}, 100 + n, 'message.new',
      now() + case when n = 1 then interval '1 hour' else interval '0' end
    from generate_series(1, 2500) as n
    order by n`
  const query = { isFailing: false, most: 100, leaseMs: 60_000, restMs: 10_000 }
  const leased = async () => {
    const leases = await leaseWebhooks(world.pool, query)
    return leases.find(({ id }) => id === webhookId)
  }
  const turn = async () => {
    const lease = await leased()
    if (!lease) return 'rests'
    const { restMs } = await deliverDue(deliverContext(), lease)
    await releaseWebhook(world.pool, lease, restMs)
    return restMs
  }
  const restUntil = (seconds: number) => world.db`
    update webhooks
    set leased_until = now() + make_interval(secs => ${seconds})
    where app_id = ${appId}`
  expect(await turn()).toBe(3_000)
  expect(await turn()).toBe('rests')
  await restUntil(0)
  expect(await turn()).toBe(3_000)
  // As after the clock was set back.
  await restUntil(60)
  expect(await turn()).toBe(3_000)
  await world.db`
    delete from webhook_deliveries
    where app_id = ${appId}
      and "offset" > 1000`
  await restUntil(0)
  expect(await turn()).toBe(0)
})
