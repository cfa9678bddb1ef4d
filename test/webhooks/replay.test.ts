import { releaseWebhook } from '@parley/server/jobs/webhooks/leases'
import { createReplays } from '@parley/server/jobs/webhooks/replay'
import { nextTopics } from '@parley/server/jobs/webhooks/topics-of-app'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { refusal } from '../support/refusal.ts'
import { rowsReadBy } from '../support/rows-read.ts'
import { hoursAgo, SMALL, useReplays } from './replays.ts'

const { world, newScene, leaseOf, turnOf, replaysLeft } = useReplays()

test("a replay reads nothing of another app's events", async () => {
  const { appId, webhookId, events, made } = await newScene()
  const other = await world().operator.apps.create({ name: 'Busy' })
  const { db } = world()
  await db`
    insert into events (topic, "offset", type, envelope)
    select ${`chat:${other.id}:`} || md5((n / 100)::text)::uuid, n, 'message.new', '{}'
    from generate_series(1, 20000) as n`
  await db`analyze events`
  const since = hoursAgo(1)
  const rows = await rowsReadBy(world(), 'generic', async () => {
    await db`
      update webhooks
      set replay_since = ${since}
      where id = ${webhookId}
        and app_id = ${appId}`
    expect(await turnOf(webhookId, 60_000)).toBe('served')
  })
  expect(await made()).toBe(await events())
  expect(rows).toBeLessThan(1_000)
})

test('a replay goes on where its last turn ended, and one further back is refused', async () => {
  const { backend, webhookId, events, made } = await newScene()
  const replay = (hours: number) => backend.webhooks.replay({ webhookId, since: hoursAgo(hours) })
  await replay(2)
  await replay(3)
  expect(await turnOf(webhookId, 0)).toBe('served')
  const begun = await made()
  expect(begun).toBeGreaterThan(0)
  expect(await refusal(replay(4))).toMatchObject({ code: 'CONFLICT' })
  // Two more turns end the replay: each goes on, and the last one finds nothing.
  expect(await turnOf(webhookId, 0)).toBe('served')
  expect(await turnOf(webhookId, 0)).toBe('served')
  expect(await made()).toBe(await events())
  expect(await replay(4)).toEqual({ success: true })
  await backend.webhooks.delete({ webhookId })
  expect([...(await replaysLeft(webhookId))]).toEqual([])
})

test('a replay that takes many small pages leaves out no event', async () => {
  const { events, made, replay, replayToEnd } = await newScene()
  await replay(1)
  expect(await replayToEnd()).toBeGreaterThan(4)
  expect(await made()).toBe(await events())
})

test('a replay that was interrupted by disabling its webhook begins again', async () => {
  const { backend, ana, webhookId, events, made, replay, replayToEnd } = await newScene()
  await replay(2)
  for (const _ of upTo(3)) await turnOf(webhookId, 0, createReplays(SMALL))
  await backend.webhooks.update({ webhookId, enabled: false })
  for (const { id: channelId } of (await ana.channels.list({})).channels)
    await ana.messages.send({ channelId, text: 'meanwhile' })
  // Replays are asked for while it is disabled, and after that: none has begun.
  expect(await replay(3)).toEqual({ success: true })
  await backend.webhooks.update({ webhookId, enabled: true })
  expect(await replay(4)).toEqual({ success: true })
  await replayToEnd()
  expect(await made()).toBe(await events())
})

test('a replayed delivery has all of its attempts again, unless it waits for one', async () => {
  const { appId, made, replay, replayToEnd } = await newScene()
  const { db } = world()
  await replay(1)
  await replayToEnd()
  for (const status of ['failed', 'pending']) {
    const isAgain = status === 'failed'
    await db`
      update webhook_deliveries
      set
        status = ${status},
        attempts = 11,
        error = 'answered 500',
        next_attempt_at = now() + interval '1 hour'
      where app_id = ${appId}`
    await replay(1)
    await replayToEnd()
    const found = await db`
      select
      from webhook_deliveries
      where app_id = ${appId}
        and status = 'pending'
        and attempts = ${isAgain ? 0 : 11}
        and (next_attempt_at <= now()) = ${isAgain}
        and (error is null) = ${isAgain}`
    expect(found).toHaveLength(await made())
  }
})

test('a replay that is asked for while one of earlier events runs is made after it', async () => {
  const { appId, webhookId, events, made, replay, replayToEnd } = await newScene()
  await replay(3)
  for (const _ of upTo(3)) await turnOf(webhookId, 0, createReplays(SMALL))
  expect(await made()).toBeGreaterThan(0)
  // The deliveries of the first replay are to be made again.
  await world().db`delete from webhook_deliveries where app_id = ${appId}`
  // The replay that goes back furthest is made, whichever is asked for first.
  for (const hours of [0, 2, 0]) expect(await replay(hours)).toEqual({ success: true })
  await replayToEnd()
  expect(await made()).toBe(await events())
  expect([...(await replaysLeft(webhookId))]).toEqual([])
})

test('a replay asked of a webhook that was disabled as its last one ended is made', async () => {
  const { appId, backend, webhookId, events, made, replay, replayToEnd } = await newScene()
  const { db, pool } = world()
  await replay(3)
  const lease = (await leaseOf(webhookId)) ?? expect.unreachable()
  const interrupted: typeof pool.use = async (work) => {
    if ((await made()) === (await events())) {
      await backend.webhooks.update({ webhookId, enabled: false })
      await replay(1)
    }
    return pool.use(work)
  }
  await createReplays().run({ use: interrupted }, lease, { webhookReplayMs: 60_000 })
  await releaseWebhook(pool, lease)
  expect(await made()).toBe(await events())
  await db`delete from webhook_deliveries where app_id = ${appId}`
  await backend.webhooks.update({ webhookId, enabled: true })
  await replayToEnd()
  expect(await made()).toBe(await events())
})

test('a replay that another worker has begun as the one before ended goes on', async () => {
  const { appId, backend, webhookId, events, made, replay, replayToEnd } = await newScene()
  const { db, pool } = world()
  await replay(3)
  const lease = (await leaseOf(webhookId)) ?? expect.unreachable()
  let isBegun = false
  const interrupted: typeof pool.use = async (work) => {
    if (!isBegun && (await made()) === (await events())) {
      isBegun = true
      await backend.webhooks.update({ webhookId, enabled: false })
      await replay(4)
      await backend.webhooks.update({ webhookId, enabled: true })
      await db`delete from webhook_deliveries where app_id = ${appId}`
      await createReplays(SMALL).run(pool, lease, { webhookReplayMs: 0 })
    }
    return pool.use(work)
  }
  await createReplays().run({ use: interrupted }, lease, { webhookReplayMs: 60_000 })
  await releaseWebhook(pool, lease)
  await replayToEnd()
  expect([isBegun, await made()]).toEqual([true, await events()])
})

test('a replay that was only begun is stored so that older servers can continue it', async () => {
  const { webhookId, replay } = await newScene()
  const { pool } = world()
  await replay(1)
  const lease = (await leaseOf(webhookId)) ?? expect.unreachable()
  let statements = 0
  const cutOff: typeof pool.use = (work) => {
    statements += 1
    return statements < 3 ? pool.use(work) : Promise.reject(new Error('cut off'))
  }
  const cut = createReplays().run({ use: cutOff }, lease, { webhookReplayMs: 60_000 })
  await expect(cut).rejects.toThrow('cut off')
  const [left] = await replaysLeft(webhookId)
  expect(JSON.parse(left?.value ?? '')).toEqual({ after: '', places: [] })
})

test('a replay whose time is moved while it runs starts over', async () => {
  const { appId, webhookId, events, made, replay, replayToEnd } = await newScene()
  const { db } = world()
  await replay(1)
  for (const _ of upTo(3)) await turnOf(webhookId, 0, createReplays(SMALL))
  await db`delete from webhook_deliveries where app_id = ${appId}`
  await db`
    update webhooks
    set replay_since = ${hoursAgo(2)}
    where app_id = ${appId}`
  await replayToEnd()
  expect(await made()).toBe(await events())
})

test("an app's topics are found in whatever order the database sorts texts", async () => {
  const { db } = world()
  // In Danish "aa" comes after "z".
  const ids = ['0a9', '0aa', '0ab', '0az'].map((end) => `00000000-0000-7000-8000-000000000${end}`)
  const [, appId = ''] = ids
  const found = db.begin(async (tx) => {
    await tx`
      create temporary table events (topic text collate "da-x-icu" primary key)
      on commit drop`
    for (const id of ids)
      await tx`
        insert into events (topic)
        values (${`chat:${id}:aa`}), (${`chat:${id}:b`}), (${`user:${id}:ana`})`
    const pool = { use: (work: (tx: never) => unknown) => work(tx as never) } as never
    const chats = await nextTopics(pool, { appId, after: '', most: 1 })
    const more = await nextTopics(pool, { appId, after: chats[0] ?? '', most: 5 })
    const users = await nextTopics(pool, { appId, after: more.at(-1) ?? '', most: 5 })
    return { chats, more, users }
  })
  expect(await found).toEqual({
    chats: [`chat:${appId}:b`],
    more: [`chat:${appId}:aa`],
    users: [`user:${appId}:ana`],
  })
})

test('the progress of a replay is deleted with its webhook', async () => {
  const { backend, webhookId } = await newScene()
  await backend.webhooks.replay({ webhookId, since: hoursAgo(1) })
  await turnOf(webhookId, 0)
  expect([...(await replaysLeft(webhookId))]).toHaveLength(1)
  await backend.webhooks.delete({ webhookId })
  expect([...(await replaysLeft(webhookId))]).toEqual([])
})

test('a process makes two replays at once, and further ones wait for their turn', async () => {
  const { backend, webhookId, made } = await newScene()
  await backend.webhooks.replay({ webhookId, since: hoursAgo(1) })
  const replays = createReplays()
  let release = () => {}
  const blocked = new Promise<never>((_, reject) => {
    release = () => reject(new Error('released'))
  })
  const waiting = { use: () => blocked }
  const lease = { id: webhookId, appId: '', failingSince: null, leasedBy: '' }
  const running = [1, 2].map(() =>
    replays.run(waiting, { ...lease, replaySince: hoursAgo(1) }, { webhookReplayMs: 1_000 }),
  )
  expect(await turnOf(webhookId, 60_000, replays)).toBe('served')
  expect(await made()).toBe(0)
  release()
  await Promise.allSettled(running)
  expect(await turnOf(webhookId, 60_000, replays)).toBe('served')
  expect(await made()).toBeGreaterThan(0)
})
