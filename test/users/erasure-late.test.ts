import { topics } from '@parley/contract'
import { runInTransaction } from '@parley/server/core/context'
import { createEventBus } from '@parley/server/core/event-bus'
import { eraseReactions, selectReactions } from '@parley/server/features/users/erase-reactions'
import { expect, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { dump } from '../support/dump.ts'
import { channelEventsOf } from '../support/events.ts'
import { waitingForRows, whileRowLocked, withoutCleanup } from '../support/locks.ts'
import { invalid, refusal } from '../support/refusal.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

const MARKER = 'Quokka-19fe'

test('rows stored while an erasure waits for the channel are erased, too', async () => {
  const { db, appId, backend, cleanup } = world()
  const ana = await world().user('ana', { name: `Ms ${MARKER}` })
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Talk' })
  await world()
    .user('ben')
    .then((ben) => ben.members.join({ channelId }))
  await ana.members.leave({ channelId })
  // No earlier event leads the erasure to the lock, only the end of all.
  await db`delete from events where topic = ${topics.channel(appId, channelId)}`
  // A pass that an earlier deletion has begun would not wait.
  await cleanup.run()
  await whileRowLocked(
    world(),
    (sql) => sql`select from channels where id = ${channelId} for update`,
    async (sql) => {
      await backend.users.delete({ userId: 'ana' })
      // The erasure has looked through all events without the lock, and now wants it.
      await waitingForRows(world(), 1)
      // A call that read the name before the deletion, and commits after it, does this.
      const user = { id: 'ana', name: `Ms ${MARKER}`, image: null }
      const envelope = JSON.stringify({ type: 'reaction.removed', payload: { channelId, user } })
      await sql`
        with raised as (
          update channels
          set rev = rev + 1
          where id = ${channelId}
          returning rev
        )
        insert into events (topic, "offset", type, envelope)
        select ${topics.channel(appId, channelId)}, rev, 'reaction.removed', ${envelope}
        from raised`
    },
  )
  await erased(world())
  expect((await dump(world())).filter((row) => row.includes(MARKER))).toEqual([])
  const [last] = await db`
    select e.envelope::json #>> '{payload,user,name}' as name
    from events e
    where e.topic = ${topics.channel(appId, channelId)}
      and e.type = 'reaction.removed'`
  expect(last?.name).toBe('Deleted user')
})

test('the id of a user who is being erased from a channel is kept until that is done', async () => {
  const { appId, backend, cleanup } = world()
  const [, fay] = await world().users('eve', 'fay')
  const { id: channelId } = await fay.channels.create({
    ...{ type: 'group', name: 'Both', memberIds: ['eve'] },
  })
  await cleanup.run()
  await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from members
      where channel_id = ${channelId}
        and user_id = 'eve'
      for update`,
    async (sql) => {
      await backend.users.delete({ userId: 'eve' })
      await waitingForRows(world(), 1)
      const free = await sql`
        select
        from users
        where app_id = ${appId}
          and id = 'eve'
        for no key update skip locked`
      expect(free).toHaveLength(0)
    },
  )
  await erased(world())
})

test('a channel that an import brings is not shown while a user is erased from it', async () => {
  const { db, appId, backend, cleanup } = world()
  const [gus, hal] = await world().users('gus', 'hal')
  const { id: channelId } = await hal.channels.create({
    ...{ type: 'group', name: 'Brought', memberIds: ['gus'] },
  })
  await gus.messages.send({ channelId, text: 'mine' })
  await cleanup.run()
  await db`delete from events where topic = ${topics.channel(appId, channelId)}`
  await db`
    update channels
    set deleted_at = 'infinity'
    where id = ${channelId}
      and app_id = ${appId}`
  await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from messages
      where channel_id = ${channelId}
      for update`,
    async (sql) => {
      await backend.users.delete({ userId: 'gus' })
      await waitingForRows(world(), 1)
      const free = await sql`
        select
        from channels
        where id = ${channelId}
        for no key update skip locked`
      expect(free).toHaveLength(0)
    },
  )
  await erased(world())
})

test('a reaction is removed with an event if its channel was shown meanwhile', async () => {
  const { db, appId, cleanup, pool } = world()
  const [lou, mia] = await world().users('lou', 'mia')
  const { id: channelId } = await mia.channels.create({
    ...{ type: 'group', name: 'Shown', memberIds: ['lou'] },
  })
  const { id: messageId } = await mia.messages.send({ channelId, text: 'hi' })
  await lou.reactions.add({ channelId, messageId, emoji: '👍' })
  // As the deletion and an import, whose next step shows the channel.
  const hide = (deletedAt: string | null) => db`
    update channels
    set deleted_at = ${deletedAt}
    where id = ${channelId}
      and app_id = ${appId}`
  const query = { appId, userIds: ['lou'], exceptChannelIds: [], limit: 10 }
  await withoutCleanup(world(), async () => {
    await db`
      update users
      set deleted_at = now()
      where app_id = ${appId}
        and id = 'lou'`
    await hide('infinity')
    const [found] = await pool.use((tx) => selectReactions(tx, query))
    expect(found).toMatchObject({ channelId, state: 'importing' })
    await hide(null)
    const { publisher } = createEventBus()
    if (found)
      await pool.use((tx) =>
        runInTransaction(tx, { appId, publisher }, (ctx) => eraseReactions(ctx, found, 10)),
      )
  })
  await cleanup.run()
  await erased(world())
  const removed = (await channelEventsOf(world(), channelId)).filter(
    ({ type }) => type === 'reaction.removed',
  )
  expect(removed).toMatchObject([{ payload: { messageId, reactions: [] } }])
  const { rev, reactions } = await mia.messages.get({ channelId, messageId })
  expect({ rev, reactions }).toEqual({ rev: removed[0]?.offset, reactions: [] })
})

test('a user whose message is being stored is deleted after that, and it is erased', async () => {
  const { backend } = world()
  const ivy = await world().user('ivy')
  const { id: channelId } = await ivy.channels.create({ type: 'group', name: 'Busy' })
  const { sent, deleted } = await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from members
      where channel_id = ${channelId}
      for update`,
    async () => {
      const sent = ivy.messages.send({ channelId, text: MARKER })
      await waitingForRows(world(), 1)
      const deleted = backend.users.delete({ userId: 'ivy' })
      const waits = waitingForRows(world(), 2)
      const first = [deleted.then(() => 'deleted'), waits.then(() => 'waits')]
      expect(await Promise.race(first)).toBe('waits')
      return { sent, deleted }
    },
  )
  await Promise.all([sent, deleted])
  await erased(world())
  expect((await dump(world())).filter((row) => row.includes(MARKER))).toEqual([])
})

test('a user who is being deleted is not made a member any more', async () => {
  const { backend } = world()
  const [jon, kay] = await world().users('jon', 'kay')
  await jon.devices.create({ platform: 'ios', provider: 'apns', token: 'of-jon' })
  const { id: channelId } = await kay.channels.create({ type: 'group', name: 'Open' })
  const { deleted, added } = await whileRowLocked(
    world(),
    (sql) => sql`select from devices where token = 'of-jon' for update`,
    async () => {
      const deleted = backend.users.delete({ userId: 'jon' })
      await waitingForRows(world(), 1)
      const added = refusal(kay.members.add({ channelId, userIds: ['jon'] }))
      await waitingForRows(world(), 2)
      return { deleted, added }
    },
  )
  expect(await added).toEqual(invalid)
  await deleted
  await erased(world())
})

test('the next user of an id may use all client ids, also those of deleted messages', async () => {
  const lea = await world().user('lea')
  const { id: channelId } = await lea.channels.create({ type: 'public', name: 'Hall' })
  const send = (user: typeof lea) =>
    user.messages.send({ channelId, text: 'hello', clientId: 'c1' })
  const { id: messageId } = await send(lea)
  await lea.messages.delete({ channelId, messageId })
  await world().backend.users.delete({ userId: 'lea' })
  await erased(world())
  expect((await send(await world().user('lea'))).id).not.toBe(messageId)
})
