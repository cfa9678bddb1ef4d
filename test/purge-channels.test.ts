import { createEventBus } from '@parley/server/core/event-bus'
import type { Tx } from '@parley/server/db/client'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import { eraseUsers } from '@parley/server/jobs/erasure'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { createChannelPurge } from '@parley/server/jobs/purge-channels'
import { BATCH } from '@parley/server/jobs/retention'
import { expect, test } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { erasureContext } from './support/erasing.ts'
import { waitingForRows, whileRowLocked, withoutCleanup } from './support/locks.ts'
import { turnOf } from './support/purge-turns.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** An app with a webhook: the events of its deleted channels are kept. */
const insertWebhook = (appId: string) => world().db`
  insert into webhooks (id, app_id, url, events, enabled, secret)
  values (gen_random_uuid(), ${appId}, 'https://example.com', '{}', false, 'secret')`

/** Deletes more channels than a step looks at. Only the last one is to be purged. */
async function deleteChannels() {
  const { db, appId } = world()
  await world().user('ana')
  await insertWebhook(appId)
  await db`
    insert into channels (id, app_id, cid, type, created_by, deleted_at)
    select
      gen_random_uuid(), ${appId}, 'group:' || n, 'group', 'ana',
      now() - interval '1 hour' + n * interval '1 millisecond'
    from generate_series(0, ${BATCH}) n`
  // Channels with events wait until these are gone.
  await db`
    insert into events (topic, "offset", type, envelope)
    select 'chat:' || ${appId}::text || ':' || id, 1, 'channel.deleted', '{}'
    from channels
    where app_id = ${appId}
      and cid <> ${`group:${BATCH}`}`
}

test('a purge that ran out of time continues after the channels that it looked at', async () => {
  await withoutCleanup(world(), async () => {
    await deleteChannels()
    const purge = createChannelPurge()
    const runTurn = (steps: number) => {
      let left = steps
      const checkpoint = () => {
        if (left === 0) throw new Error('the turn is over')
        left -= 1
      }
      return purge({
        db: world().pool,
        checkpoint,
        // Work that has begun may run to its end.
        attempt: async (work) => {
          left += 100
          await work()
          return true
        },
        batch: createBatchSize(100),
        publisher: createEventBus().publisher,
      })
    }
    await expect(runTurn(1)).rejects.toThrow('the turn is over')
    await runTurn(1)
    const left = async () => {
      const [row] = await world().db<{ count: number }[]>`
        select count(*)::int
        from channels
        where app_id = ${world().appId}
          and deleted_at is not null`
      return row?.count
    }
    expect(await left()).toBe(BATCH)
    // The next walk begins with the first channel.
    await world().db`
      delete from events
      where topic = (
        select 'chat:' || app_id || ':' || id
        from channels
        where app_id = ${world().appId}
          and cid = 'group:0'
      )`
    await runTurn(50)
    expect(await left()).toBe(BATCH - 1)
  })
})

test('a channel that takes many turns to purge delays one of another app by one turn', async () => {
  const { db, stranger, user } = world()
  const deletedChannel = async (name: string, messages: number) => {
    const una = await user(name, {}, await stranger())
    const { id } = await una.channels.create({ type: 'group', name })
    await db`
      insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
      select gen_random_uuid(), ${una.minted.appId}, ${id}, ${una.id}, n, n, 'text', '{}', '[]'
      from generate_series(1, ${messages}) n`
    await una.channels.delete({ channelId: id })
    return id
  }
  const purge = createChannelPurge()
  const runTurn = (steps: number) => purge(turnOf(world(), steps))
  await withoutCleanup(world(), async () => {
    const vast = await deletedChannel('vast', 300)
    const small = await deletedChannel('small', 1)
    const left = async () => {
      const channels = await db<{ id: string }[]>`
        select id
        from channels
        where id in (${vast}, ${small})`
      const messages = await db`select from messages where channel_id = ${vast}`
      return { channels: channels.map(({ id }) => id), messages: messages.length }
    }
    await expect(runTurn(60)).rejects.toThrow('the turn is over')
    const { messages } = await left()
    expect(messages).toBeGreaterThan(200)
    await expect(runTurn(60)).rejects.toThrow('the turn is over')
    // The rest of that turn was for the first one again.
    const next = await left()
    expect(next).toEqual({ channels: [vast], messages: expect.toSatisfy((now) => now < messages) })
    await expect(runTurn(60)).rejects.toThrow('the turn is over')
    expect((await left()).messages).toBeLessThan(next.messages)
    await runTurn(1_000)
    expect(await left()).toEqual({ channels: [], messages: 0 })
  })
})

test('a deleted channel has no members left, though one had left it and come back', async () => {
  // The other test counts the channels of the world's app.
  const backend = await world().stranger()
  const una = await world().user('una', {}, backend)
  const ben = await world().user('ben', {}, backend)
  await insertWebhook(una.minted.appId)
  const { id: channelId } = await una.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  await ben.members.leave({ channelId })
  await una.members.add({ channelId, userIds: [ben.id] })
  await una.channels.delete({ channelId })
  await cleanupElsewhere(world()).pass()
  const rows = await world().db`
    select
      (select count(*) from channels where id = ${channelId})::int as channels,
      (select count(*) from members where channel_id = ${channelId})::int as members,
      (select count(*) from former_members where channel_id = ${channelId})::int as former`
  expect([...rows]).toEqual([{ channels: 1, members: 0, former: 2 }])
})

test('an erasure beside a purge leaves events that a webhook can be sent', async () => {
  const backend = await world().stranger()
  const una = await world().user('una', {}, backend)
  const ben = await world().user('ben', {}, backend)
  const { appId } = una.minted
  await insertWebhook(appId)
  const members = { memberIds: [ben.id] }
  const { id: channelId } = await una.channels.create({ type: 'group', name: 'Talk', ...members })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'Secret' })
  await ben.messages.edit({ channelId, messageId, text: 'Edited secret' })
  const lockMessage = (sql: Tx) => sql`
    select
    from messages
    where id = ${messageId}
    for update`
  await withoutCleanup(world(), async () => {
    await una.channels.delete({ channelId })
    await backend.users.delete({ userId: ben.id })
    const { erased } = await whileRowLocked(world(), lockMessage, async () => {
      const context = erasureContext(world(), { positions: createErasurePositions(), rows: 100 })
      const erased = eraseUsers(context, { appId, userIds: [ben.id] })
      // As if a purge were deleting it.
      await waitingForRows(world(), 1)
      return { erased }
    })
    await erased
  })
  const events = await world().db<{ type: string; envelope: string }[]>`
    select type, envelope
    from events
    where message_id = ${messageId}`
  expect(events).toHaveLength(2)
  for (const { type, envelope } of events) {
    expect(JSON.parse(envelope)).toMatchObject({ type, payload: { channelId, messageId } })
    expect(envelope).not.toContain('ecret')
  }
})
