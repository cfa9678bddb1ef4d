import { topics } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import { createCollector } from '@parley/server/jobs/webhooks/collect'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks, releaseWebhook } from '@parley/server/jobs/webhooks/leases'
import { expect, onTestFinished, test } from 'vitest'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { useWebhooks } from './fixture.ts'

const { current, deliverContext, newScene } = useWebhooks()

test('a clock that is set back a little ends no lease of a worker that lives', async () => {
  const { world } = current()
  const { webhookId, appId } = await newScene()
  await world.db`
    insert into webhook_deliveries (app_id, webhook_id, event_type)
    values (${appId}, ${webhookId}, 'webhook.test')`
  const leaseMs = 60_000
  const query = { isFailing: false, most: 100, leaseMs, restMs: 10_000, served: [] }
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

test('a webhook whose deliveries all wait is left alone longer, the more were read', async () => {
  const { world } = current()
  const { webhookId, appId, channelId } = await newScene()
  const topic = topics.channel(appId, channelId)
  // The first one has failed, and is tried again in an hour.
  await world.db`
    insert into webhook_deliveries (
      app_id, webhook_id, topic, "offset", event_type, attempts, next_attempt_at
    )
    select ${appId}, ${webhookId}, ${topic}, 100 + n, 'message.new',
      (n = 1)::int, now() + case when n = 1 then interval '1 hour' else interval '0' end
    from generate_series(1, 2500) as n
    order by n`
  const query = { isFailing: false, most: 100, leaseMs: 60_000, restMs: 10_000, served: [] }
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
  // The clock seems to have been set back.
  await restUntil(60)
  expect(await turn()).toBe(3_000)
  await world.db`
    delete from webhook_deliveries
    where app_id = ${appId}
      and "offset" > 1000`
  await restUntil(0)
  expect(await turn()).toBe(0)
})

test('deliveries are due at once when a webhook is enabled again or gets another URL', async () => {
  const { world } = current()
  const { backend, webhookId, appId, path } = await newScene()
  const wait = () => world.db`
    insert into webhook_deliveries (app_id, webhook_id, event_type, status, next_attempt_at)
    select ${appId}, ${webhookId}, 'webhook.test', status, now() + interval '1 hour'
    from unnest(${['pending', 'retrying', 'delivered']}::text[]) as given (status)`
  const left = async () => {
    const [row] = await world.db<{ waiting: number }[]>`
      select count(*)::int as waiting
      from webhook_deliveries
      where app_id = ${appId}
        and status in ('pending', 'retrying')
        and next_attempt_at > now()`
    return row?.waiting
  }
  await wait()
  const { url } = (await backend.webhooks.list()).webhooks[0] ?? {}
  await backend.webhooks.update({ webhookId, url, enabled: true, description: 'Same' })
  await backend.webhooks.update({ webhookId, enabled: false })
  expect(await left()).toBe(2)
  await backend.webhooks.update({ webhookId, enabled: true })
  expect(await left()).toBe(0)
  await wait()
  await backend.webhooks.update({ webhookId, url: url?.replace(path, '/mended') })
  expect(await left()).toBe(0)
})

test('enabling a webhook locks its deliveries in the order in which replays do', async () => {
  const { world } = current()
  const { backend, webhookId, appId, channelId } = await newScene()
  const topic = topics.channel(appId, channelId)
  // The deliveries are made in the reverse order of their events.
  await world.db`
    insert into webhook_deliveries (
      app_id, webhook_id, topic, "offset", event_type, next_attempt_at
    )
    select ${appId}, ${webhookId}, ${topic}, n, 'message.new', now() + interval '1 hour'
    from unnest(array[2, 1]) as given (n)`
  await backend.webhooks.update({ webhookId, enabled: false })
  const lock = (sql: Tx, offset: number) => sql`
    select
    from webhook_deliveries
    where app_id = ${appId}
      and "offset" = ${offset}
    for update`
  const { enabled } = await whileRowLocked(
    world,
    (sql) => lock(sql, 1),
    async (sql) => {
      const enabling = backend.webhooks.update({ webhookId, enabled: true })
      await waitingForRows(world, 1)
      await lock(sql, 2)
      return { enabled: enabling }
    },
  )
  expect(await enabled).toMatchObject({ enabled: true })
})

const hour = 3_600_000

/** A process that collects. `before` is called with the number of each statement of a pass. */
function newProcess(before: (statement: number) => Promise<unknown> = async () => {}) {
  const { pool } = current().world
  let statements = 0
  const use: typeof pool.use = async (...given) => {
    statements += 1
    await before(statements)
    return pool.use(...given)
  }
  const { timings: defaults, signal } = deliverContext()
  // No turn ends by itself, however slow the machine is.
  const timings = { ...defaults, pollMs: hour, webhookSweepMs: hour }
  const { collect, leave } = createCollector({ db: { use }, timings, signal })
  onTestFinished(async () => void (await leave()))
  /** How many statements a pass takes. */
  const pass = async () => {
    statements = 0
    expect(await collect()).toEqual({ areWanted: true })
    return statements
  }
  return { pass, leave }
}

/** Sets the end of the turn of the process that collects. */
const endIn = (milliseconds: number) => current().world.db`
  update service
  set value = (
    value::jsonb || jsonb_build_object('until', now() + ${milliseconds} * interval '1 ms')
  )::text
  where key = 'webhooks_collector'`

test('one of several processes reads the log of events, until it leaves or is late', async () => {
  const { world } = current()
  const { send, webhookId, appId } = await newScene()
  const [one, two] = [newProcess(), newProcess()]
  await send('hello')
  expect([await two.pass(), await one.pass(), await one.pass()]).toEqual([4, 1, 1])
  // A process that leaves without having the turn does not end that of another.
  await one.leave()
  expect([await one.pass(), await two.pass()]).toEqual([1, 3])
  const made = await world.db`
    select
    from webhook_deliveries
    where webhook_id = ${webhookId}
      and app_id = ${appId}`
  expect(made).toHaveLength(1)
  await two.leave()
  expect([await one.pass(), await two.pass()]).toEqual([4, 1])
  // A turn that is over goes to the other process, if that one comes first.
  await endIn(-1)
  expect([await two.pass(), await one.pass()]).toEqual([3, 1])
  // The clock seems to have been set back.
  await endIn(20 * hour)
  expect([await one.pass(), await two.pass()]).toEqual([3, 1])
})

test('a long pass belongs to one process, and ends if another begins one meanwhile', async () => {
  const { world } = current()
  const { appId } = await newScene()
  const topic = topics.user(appId, 'ana')
  await world.db`
    insert into events (topic, "offset", type, envelope)
    select ${topic}, 100 + n, 'channel.added', '{}'
    from generate_series(1, 5001) as n`
  onTestFinished(async () => void (await world.db`delete from events where topic = ${topic}`))
  const two = newProcess()
  const passes: number[] = []
  // The first page takes longer than a turn, and the second one is not read yet.
  const slow = newProcess(async (statement) => {
    if (statement === 4) await endIn(-1)
    if (statement === 5) passes.push(await two.pass())
  })
  passes.push(await slow.pass())
  expect(passes).toEqual([1, 6])
  await slow.leave()
  // Here another process begins meanwhile: the first one ends.
  const late = newProcess(async (statement) => {
    if (statement !== 4) return
    await endIn(-1)
    passes.push(await two.pass())
  })
  passes.push(await late.pass())
  expect(passes).toEqual([1, 6, 6, 4])
})

test('a process that leaves the log of events to another locks nothing', async () => {
  const { world } = current()
  await newScene()
  const [one, two] = [newProcess(), newProcess()]
  expect(await one.pass()).toBeGreaterThan(1)
  const lock = (sql: Tx) => sql`
    select
    from service
    where key = 'webhooks_collector'
    for update`
  await whileRowLocked(world, lock, async () => {
    expect(await two.pass()).toBe(1)
  })
})
