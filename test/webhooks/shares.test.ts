import { limits } from '@parley/contract'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks } from '@parley/server/jobs/webhooks/leases'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { answering } from '../support/receiver.ts'
import { discardPlans, type PlanKind, rowsReadBy } from '../support/rows-read.ts'
import type { World } from '../support/world.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, deliverContext, newScene } = useWebhooks()

/** An app with as many endpoints as one may have, none of which ever answers. */
async function newHangingScene() {
  const { receiver } = current()
  const scene = await newScene()
  const { backend, path } = scene
  for (const n of upTo(limits.webhooks.most - 1))
    await backend.webhooks.create({ url: `${receiver.url}${path}/${n}`, events: ['message.*'] })
  receiver.answerWith((response, one) =>
    one.path.startsWith(path) ? undefined : answering(200)(response, one),
  )
  const received = () => receiver.received.filter((one) => one.path.startsWith(path))
  return { ...scene, received }
}

test('endpoints of an app that hang, all at once, keep no other app waiting', async () => {
  const hanging = await newHangingScene()
  const other = await newScene()
  startWorker()
  await hanging.send('lost')
  await expect.poll(() => hanging.received().length).toBeGreaterThanOrEqual(10)
  for (const n of upTo(3)) {
    await other.send(`${n}`)
    await other.receive(n)
  }
  expect(other.texts()).toEqual(['1', '2', '3'])
  expect(hanging.received()).toHaveLength(10)
})

test('failing endpoints of an app that hang keep those of no other app waiting', async () => {
  const { world } = current()
  const hanging = await newHangingScene()
  const other = await newScene()
  await world.db`
    update webhooks
    set failing_since = now() - interval '1 hour'
    where app_id in (${hanging.appId}, ${other.appId})`
  await hanging.send('lost')
  startWorker()
  await expect.poll(() => hanging.received().length).toBeGreaterThanOrEqual(10)
  await other.send('found')
  await other.receive(1)
  expect(hanging.received()).toHaveLength(10)
})

/** Gives apps webhooks with something to send. Those of the first app have waited longest. */
async function waiting(counts: number[]) {
  const { world } = current()
  const apps = await Promise.all(counts.map(() => newScene()))
  await world.db`delete from webhooks where app_id in ${world.db(apps.map(({ appId }) => appId))}`
  for (const [index, { appId }] of apps.entries())
    await world.db`
      with made as (
        insert into webhooks (id, app_id, url, events, secret, leased_until)
        select
          gen_random_uuid(), ${appId}, 'https://shop.example', '{*}', 'secret',
          now() - ${counts.length - index} * interval '1 minute' + n * interval '1 second'
        from generate_series(1, ${counts[index] ?? 0}) as n
        returning id, app_id
      )
      insert into webhook_deliveries (app_id, webhook_id, event_type)
      select made.app_id, made.id, 'webhook.test'
      from made`
  return apps.map(({ appId }) => appId)
}
const query = { isFailing: false, most: 100, leaseMs: 60_000, restMs: 10_000 }

test('apps take turns, and their webhooks in the order of their last turns', async () => {
  const { pool } = current().world
  const [many = '', few = '', one = ''] = await waiting([12, 2, 1])
  const lease = async (most: number, served: string[]) => {
    const leases = await leaseWebhooks(pool, { ...query, most, served })
    const counted = (id: string) => leases.filter(({ appId }) => appId === id).length
    return [many, few, one].map(counted)
  }
  expect(await lease(4, [])).toEqual([2, 1, 1])
  // Webhooks that are being served count, so it is the turn of the other app.
  expect(await lease(1, [many, many, few, one])).toEqual([0, 1, 0])
  expect(await lease(100, Array(7).fill(many))).toEqual([3, 0, 0])
  expect(await lease(100, Array(10).fill(many))).toEqual([0, 0, 0])
  expect(await lease(100, [one, few])).toEqual([7, 0, 0])
})

test('a webhook that has had no turn yet comes before the others of its app', async () => {
  const { pool, db } = current().world
  const [appId = ''] = await waiting([12])
  const [fresh] = await db<{ id: string }[]>`
    update webhooks
    set leased_until = null
    where id = (
      select id
      from webhooks
      where app_id = ${appId}
      order by leased_until desc
      limit 1
    )
    returning id`
  const leases = await leaseWebhooks(pool, { ...query, most: 1, served: [] })
  expect(leases.map(({ id }) => id)).toEqual([fresh?.id])
})

test('workers that lease at the same moment never lease the same webhook', async () => {
  const { pool, db } = current().world
  const [appId = ''] = await waiting([5])
  for (const _ of upTo(30)) {
    const workers = upTo(3).map(() => leaseWebhooks(pool, { ...query, served: [] }))
    const ids = (await Promise.all(workers)).flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    await db`update webhooks set leased_until = now() where app_id = ${appId}`
  }
})

/** Puts deliveries of other channels before those that are due, all to be tried again later. */
async function putOff(appIds: string[], count: number) {
  const { db } = current().world
  await db`
    insert into webhook_deliveries (
      id, app_id, webhook_id, topic, "offset", event_type, next_attempt_at
    )
    select -n, wh.app_id, wh.id, 'channel-' || n, 1, 'message.new', now() + interval '1 hour'
    from (
      select wh.*, row_number() over () as place
      from webhooks wh
      where wh.app_id in ${db(appIds)}
    ) wh
    cross join generate_series((wh.place - 1) * ${count} + 1, wh.place * ${count}) as n`
}

test('finding the webhooks with something to send reads one delivery of each line', async () => {
  const { world } = current()
  const appIds = await waiting([5, 5])
  await putOff(appIds, 1_200)
  await world.db`analyze webhooks, webhook_deliveries`
  const leased = async (db: Pick<World['pool'], 'use'>) => {
    await db.use(
      (sql) => sql`
        update webhooks
        set leased_until = null
        where app_id in ${sql(appIds)}`,
    )
    return leaseWebhooks(db, { ...query, served: [] })
  }
  await world.pool.use(async (connection, deadline) => {
    // Only the rows that this connection reads are counted.
    const use: World['pool']['use'] = async (work) => work(connection, deadline)
    const pool = { ...world.pool, use }
    await discardPlans({ ...world, pool })
    for (const plan of ['generic', 'custom'] satisfies PlanKind[]) {
      const rows = await rowsReadBy({ ...world, pool }, plan, () => leased(pool))
      expect(rows, plan).toBeLessThanOrEqual(200)
    }
  })
  // The delivery that is due is sent, however many wait before it.
  const [lease] = await leased(world.pool)
  expect(lease && (await deliverDue(deliverContext(), lease))).toMatchObject({ wereDue: true })
})
