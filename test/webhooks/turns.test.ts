import { topics } from '@parley/contract'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { createCollector } from '@parley/server/jobs/webhooks/collect'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks } from '@parley/server/jobs/webhooks/leases'
import { endOf, eventsAfter, type PageRow, startOf } from '@parley/server/jobs/webhooks/log-pages'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { answering } from '../support/receiver.ts'
import { useWebhooks } from './fixture.ts'

/** Tests of how the turns of workers begin and end. */

const { current, startWorker, deliverContext, newScene } = useWebhooks()
const hour = 3_600_000

/** Makes deliveries like a process of which only the first pass looks back for long. */
function newCollector() {
  const { pool } = current().world
  let statement = 0
  let failsAt = 0
  const use: typeof pool.use = async (...given) => {
    statement += 1
    if (statement === failsAt) throw new Error('the pass fails')
    return pool.use(...given)
  }
  const { timings, signal } = deliverContext()
  const options = { ...timings, pollMs: hour, webhookSweepMs: hour }
  const collector = createCollector({ db: { use }, timings: options, signal })
  onTestFinished(async () => void (await collector.leave()))
  /** The next pass fails at its second statement, which reads the log once the turn was taken. */
  const fail = () => {
    failsAt = statement + 2
  }
  return { ...collector, fail }
}

/** A webhook that wants events since an hour, and events that are committed late. */
async function lateScene() {
  const { world } = current()
  const { appId, webhookId, channelId } = await newScene()
  await world.db`
    update webhooks
    set active_since = now() - interval '1 hour'
    where app_id = ${appId}`
  const commit = (offset: number, secondsAgo: number) => world.db`
    insert into events (topic, "offset", type, envelope, created_at)
    values (
      ${topics.channel(appId, channelId)}, ${offset}, 'message.new', '{}',
      now() - ${secondsAgo} * interval '1 second'
    )`
  /** The offsets of the deliveries that were made. */
  const made = async () => {
    const rows = await world.db`
      select wd."offset"
      from webhook_deliveries wd
      where wd.webhook_id = ${webhookId}
        and wd.app_id = ${appId}`
    return [...rows]
  }
  return { commit, made }
}

test('a pass looks back a moment for events that were committed late', async () => {
  const { commit, made } = await lateScene()
  const { collect } = newCollector()
  await collect()
  await commit(901, 1)
  // This one is left to a pass that looks back for long.
  await commit(902, 50)
  await collect()
  expect(await made()).toEqual([{ offset: 901 }])
})

test('after a restart events are found that were committed late before it', async () => {
  const { commit, made } = await lateScene()
  const { collect, leave } = newCollector()
  await collect()
  await leave()
  await commit(901, 50)
  await newCollector().collect()
  expect(await made()).toEqual([{ offset: 901 }])
})

test('a page of the log ends with the last of several events of one moment', async () => {
  const { world } = current()
  const { appId, channelId } = await newScene()
  const [{ at } = { at: '' }] = await world.db<{ at: string }[]>`
    select (now() + interval '1 hour')::text as at`
  await world.db`
    insert into events (topic, "offset", type, envelope, created_at)
    select ${topics.channel(appId, channelId)}, n, 'message.new', '{}', ${at}::timestamptz
    from generate_series(901, 905) n`
  const [end] = await world.pool.use(
    (db) => db<PageRow[]>`
      with page as materialized (${eventsAfter(db, { ...startOf(at), most: 4 })})
      ${endOf(db)}`,
  )
  expect(end).toMatchObject({ offset: 904, count: 4 })
})

test('a process whose pass failed leaves the log of events to another one', async () => {
  await newScene()
  const { collect, fail } = newCollector()
  const turns = () => current().world.db`
    select
    from service
    where key = 'webhooks_collector'`
  await collect()
  expect(await turns()).toHaveLength(1)
  fail()
  await expect(collect()).rejects.toThrow('the pass fails')
  expect(await turns()).toHaveLength(0)
})

test('a worker that ends leaves its webhooks and the log of events to others', async () => {
  const { world, receiver } = current()
  const { send, receive, webhookId, appId } = await newScene()
  receiver.answerWith(() => {})
  await send('one')
  const stop = startWorker()
  await receive(1)
  await stop()
  const left = await world.db`
    select
      (select count(*)::int from service where key = 'webhooks_collector') as collectors,
      wh.leased_by is null as is_free
    from webhooks wh
    where wh.id = ${webhookId}
      and wh.app_id = ${appId}`
  expect([...left]).toEqual([{ collectors: 0, isFree: true }])
})

test('a webhook with more than a turn takes is served again at once', async () => {
  const { world } = current()
  const { appId, webhookId, receive } = await newScene()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, event_type)
    select ${appId}, ${webhookId}, 'webhook.test'
    from generate_series(1, 110)`
  // The next poll is not waited for.
  startWorker({ timings: { pollMs: hour } })
  expect(await receive(110)).toHaveLength(110)
})

/** A turn of a webhook that has this many deliveries: returns how many its receiver got. */
async function turnOf(deliveries: number, { appId, webhookId, received }: Scene) {
  const { world, receiver } = current()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, event_type)
    select ${appId}, ${webhookId}, 'webhook.test'
    from generate_series(1, ${deliveries}::int)`
  const query = { most: 100, leaseMs: 60_000, restMs: 10_000, served: [] }
  const leases = [
    ...(await leaseWebhooks(world.pool, { ...query, isFailing: false })),
    ...(await leaseWebhooks(world.pool, { ...query, isFailing: true })),
  ]
  const lease = leases.find(({ id }) => id === webhookId) ?? expect.unreachable()
  await deliverDue(
    { ...deliverContext(), request: createGuardedRequest({ allowedHosts: [receiver.host] }) },
    lease,
  )
  return received().length
}
type Scene = Awaited<ReturnType<typeof newScene>>

test('a turn ends when its webhook begins to fail', async () => {
  const scene = await newScene()
  current().receiver.answerWith(answering(500))
  // No more are sent than go side by side.
  expect(upTo(4)).toContain(await turnOf(20, scene))
})

test('a turn ends when its webhook is disabled', async () => {
  const scene = await newScene()
  const { backend, webhookId } = scene
  current().receiver.answerWith(async (response, one) => {
    await backend.webhooks.update({ webhookId, enabled: false })
    answering(200)(response, one)
  })
  expect(upTo(4)).toContain(await turnOf(20, scene))
})

test('a webhook that is disabled while its receiver fails stays disabled', async () => {
  const scene = await newScene()
  const { backend, webhookId, webhook } = scene
  let disabling: Promise<unknown> | undefined
  current().receiver.answerWith(async (response, one) => {
    disabling ??= backend.webhooks.update({ webhookId, enabled: false })
    await disabling
    answering(500)(response, one)
  })
  await turnOf(20, scene)
  expect(await webhook()).toMatchObject({ enabled: false, disabledReason: null })
})

test('a worker whose lease another one has taken stores no outcome', async () => {
  const { world, receiver } = current()
  const scene = await newScene()
  receiver.answerWith(async (response, one) => {
    await world.db`
      update webhooks
      set leased_by = gen_random_uuid()
      where id = ${scene.webhookId}
        and app_id = ${scene.appId}`
    answering(500)(response, one)
  })
  expect(await turnOf(20, scene)).toBeGreaterThan(0)
  const states = (await scene.deliveries()).map(({ status, attempts }) => `${status} ${attempts}`)
  expect(new Set(states)).toEqual(new Set(['pending 0']))
})

test('a webhook that works again and fails in the same turn fails since then', async () => {
  const { world, receiver } = current()
  const scene = await newScene()
  await world.db`
    update webhooks
    set failing_since = now() - interval '1 day'
    where id = ${scene.webhookId}
      and app_id = ${scene.appId}`
  receiver.answerWith((response, one) =>
    answering(scene.received().length === 1 ? 200 : 500)(response, one),
  )
  expect(await turnOf(2, scene)).toBe(2)
  const { failingSince } = (await scene.webhook()) ?? expect.unreachable()
  expect(Date.parse(failingSince ?? '')).toBeGreaterThan(Date.now() - hour)
})
