import { topics } from '@parley/contract'
import { runInTransaction } from '@parley/server/core/context'
import { createEventBus } from '@parley/server/core/event-bus'
import { DeadlineError } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import {
  deleteUserEvents,
  lockTarget,
  removeReadMarks,
  selectErasureTargets,
} from '@parley/server/features/users/erase'
import { eraseReactions } from '@parley/server/features/users/erase-reactions'
import { createErasurePositions } from '@parley/server/jobs/erasure-context'
import { expect, onTestFinished, test } from 'vitest'
import { cleanupElsewhere, erased, expectCompleteHistory } from './support/cleanup.ts'
import { upTo } from './support/events.ts'
import { waitingForRows, whileLocked, whileUserLocked, withoutCleanup } from './support/locks.ts'
import { refusals } from './support/refusal.ts'
import { createWorld, type User, useWorld } from './support/world.ts'

const world = useWorld()

test('every way to create a user waits until the previous user of that id is erased', async () => {
  const { backend } = world()
  const [gus] = await world().users('gus', 'h1', 'h2', 'h3')
  const { id: channelId } = await gus.channels.create({
    type: 'group',
    name: 'Three',
    memberIds: ['h1', 'h2', 'h3'],
  })
  await backend.users.bulkDelete({ userIds: ['h1', 'h2', 'h3'] })
  await Promise.all([
    backend.users.sync({ users: [{ id: 'h1' }, { id: 'h2' }] }),
    backend.users.put({ userId: 'h3', name: 'Third' }),
    backend.tokens.create({ userId: 'h1' }),
  ])
  const { members } = await gus.members.list({ channelId })
  expect(members.map(({ userId }) => userId)).toEqual(['gus'])
  await erased(world())
  expect((await backend.users.list({ q: 'h' })).users.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['h1', 'h2']),
  )
  await expectCompleteHistory(world(), channelId)
})

test('deleting a user during their writes erases everything and leaves no gaps', async () => {
  for (const round of upTo(4)) {
    const [ivy, jim] = (await world().users(`ivy-${round}`, `jim-${round}`)) as [User, User]
    const { id: channelId } = await jim.channels.create({
      type: 'group',
      name: 'Race',
      memberIds: [ivy.id],
    })
    const { id: messageId } = await jim.messages.send({ channelId, text: 'react to this' })
    const busy = upTo(12).flatMap((n) => [
      ivy.messages.send({ channelId, text: `from ivy ${n}` }),
      ivy.reactions.add({ channelId, messageId, emoji: `e${n}` }),
      ivy.reads.mark({ channelId }),
      jim.messages.send({ channelId, text: `from jim ${n}` }),
    ])
    const [outcomes] = await Promise.all([
      Promise.allSettled(busy),
      world().backend.users.delete({ userId: ivy.id }),
    ])
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    for (const code of codes) expect(['INVALID_TOKEN', 'FORBIDDEN', 'NOT_FOUND']).toContain(code)
    await erased(world())
    const { messages } = await jim.messages.list({ channelId })
    expect(messages.filter(({ userId }) => userId !== jim.id)).toEqual([])
    expect(messages.filter(({ text }) => text.startsWith('from jim'))).toHaveLength(12)
    expect(messages[0]?.reactions).toEqual([])
    expect((await jim.members.list({ channelId })).members).toHaveLength(1)
    await expectCompleteHistory(world(), channelId)
  }
})

test('a node that missed the deletion accepts no more writes of the user', async () => {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(() => node.stop())
  const [rik, sue] = await world().users('rik', 'sue')
  const { id: channelId } = await sue.channels.create({
    type: 'group',
    name: 'Late',
    memberIds: ['rik'],
  })
  const { id: messageId } = await sue.messages.send({ channelId, text: 'hi' })
  const there = node.api({ token: rik.token })
  await there.messages.send({ channelId, text: 'still here' })
  await whileLocked(world(), channelId, () => world().backend.users.delete({ userId: 'rik' }))
  const calls = [
    there.messages.send({ channelId, text: 'too late' }),
    there.reactions.add({ channelId, messageId, emoji: '👍' }),
    there.devices.create({ platform: 'ios', provider: 'apns', token: 'rik' }),
    there.workspaces.create({ name: 'Late', type: 'team' }),
  ]
  for (const { status } of await refusals(calls)) expect([401, 403]).toContain(status)
  await erased(world())
  expect((await sue.messages.list({ channelId })).messages).toMatchObject([
    { id: messageId, reactions: [] },
  ])
  const devices = await world().db`
    select from devices
    where app_id = ${world().appId}
      and user_id = 'rik'`
  expect(devices).toHaveLength(0)
})

test('a late step of an erasure takes nothing from the next user of the id', async () => {
  const { db, pool, appId } = world()
  const [uma, vic] = await world().users('uma', 'vic')
  const { id: channelId } = await uma.channels.create({
    type: 'group',
    name: 'Again',
    memberIds: ['vic'],
  })
  const { id: messageId } = await uma.messages.send({ channelId, text: 'hi' })
  await vic.reads.mark({ channelId })
  await vic.reactions.add({ channelId, messageId, emoji: '👍' })
  const rows = async () => {
    const [row] = await db<{ marks: number; events: number }[]>`
      select
        (select count(*)::int from read_marks rm where rm.app_id = ${appId} and rm.user_id = 'vic')
          as marks,
        (select count(*)::int from events e where e.topic = ${topics.user(appId, 'vic')}) as events`
    return row
  }
  const before = await rows()
  expect(before).toMatchObject({ marks: 1, events: expect.toSatisfy((count) => count > 0) })
  await pool.use((tx) => removeReadMarks(tx, { appId, channelId, userId: 'vic' }, 100))
  await pool.use((tx) => deleteUserEvents(tx, { appId, userIds: ['vic'], limit: 100 }))
  const found = { appId, channelId, userId: 'vic', messageIds: [messageId], emojis: ['👍'] }
  const { publisher } = createEventBus()
  for (const state of ['active', 'deleted'] as const)
    await pool.use((tx) =>
      runInTransaction(tx, { appId, publisher }, (ctx) =>
        eraseReactions(ctx, { ...found, state }, 100),
      ),
    )
  expect(await rows()).toEqual(before)
  expect((await uma.messages.get({ channelId, messageId })).reactions).toHaveLength(1)
})

test('two nodes that erase the same users remove each membership once', async () => {
  const elsewhere = cleanupElsewhere(world())
  const [kim] = await world().users('kim', 'lea', 'mel')
  const channels = await Promise.all(
    upTo(8).map((n) =>
      kim.channels.create({ type: 'group', name: `Both ${n}`, memberIds: ['lea', 'mel'] }),
    ),
  )
  await world().backend.users.bulkDelete({ userIds: ['lea', 'mel'] })
  const tools = { use: world().pool.use, until: performance.now() + 120_000 }
  const users = { appId: world().appId, userIds: ['lea', 'mel'] }
  await Promise.all([
    elsewhere.run(),
    elsewhere.erase(users, tools),
    world().cleanup.erase(users, tools),
    world().cleanup.run(),
  ])
  await erased(world())
  for (const { id: channelId } of channels) {
    const events = await expectCompleteHistory(world(), channelId)
    expect(events.filter(({ type }) => type === 'channel.member_left')).toHaveLength(2)
  }
})

test('an interrupted erasure is completed by the next cleanup', async () => {
  const [nia] = await world().users('nia', 'oli')
  const channels = await Promise.all(
    upTo(3).map((n) =>
      nia.channels.create({ type: 'group', name: `Cut ${n}`, memberIds: ['oli'] }),
    ),
  )
  const elsewhere = cleanupElsewhere(world())
  // A pass that an earlier test has begun would erase the user before the channel is locked.
  await world().cleanup.run()
  // A node that is stopped while it erases leaves this: no other node is notified.
  await world().db`
    update users
    set deleted_at = now()
    where app_id = ${world().appId}
      and id = 'oli'`
  const { stopped } = await whileLocked(world(), channels[1]?.id ?? '', async (waiting) => {
    void elsewhere.run()
    await waiting(1)
    return { stopped: elsewhere.stop() }
  })
  await stopped
  await erased(world())
  for (const { id: channelId } of channels)
    expect((await nia.members.list({ channelId })).members).toHaveLength(1)
})

test('the erasure of one user goes on where it was, and that of another from the start', () => {
  const positions = createErasurePositions()
  positions.set('ana in talk', 500)
  const all = ['ana in talk', 'ben in talk', 'ana elsewhere']
  expect(all.map(positions.get)).toEqual([500, 0, 0])
  positions.set('ben in talk', 7)
  positions.delete('ana in talk')
  expect(all.map(positions.get)).toEqual([0, 7, 0])
})

test('the erasure finds and erases nothing of users who are not deleted', async () => {
  const [gone, kept] = await world().users('found-gone', 'found-kept')
  const { id: channelId } = await gone.channels.create({
    type: 'group',
    name: 'Found',
    memberIds: [kept.id],
  })
  const { appId, db, pool } = world()
  const query = { appId, userIds: [gone.id, kept.id], exceptChannelIds: [], limit: 10 }
  const find = () => pool.use((tx) => selectErasureTargets(tx, query))
  const locked = (userId: string) =>
    pool.use((tx) => transaction(tx, (db) => lockTarget(db, { appId, channelId, userId })))
  expect(await find()).toEqual([])
  await withoutCleanup(world(), async () => {
    await db`
      update users
      set deleted_at = now()
      where app_id = ${appId}
        and id = ${gone.id}`
    expect(await find()).toEqual([{ appId, channelId, userId: gone.id, state: 'active' }])
    const late = { use: pool.use, until: performance.now() - 1 }
    const erase = world().cleanup.erase({ appId, userIds: [gone.id] }, late)
    await expect(erase).rejects.toThrow(DeadlineError)
    const users = await Promise.all([gone.id, kept.id].map(locked))
    expect(users.map(({ user }) => user?.id)).toEqual([gone.id, undefined])
  })
})

test('an erasure that a call waits for waits for the locked row of a user', async () => {
  const { appId, db, cleanup, pool } = world()
  const { id } = await world().user('locked-gone')
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = ${id}`
  const erasing = await whileUserLocked(world(), id, async () => {
    const tools = { use: pool.use, until: performance.now() + 60_000 }
    const erasing = cleanup.erase({ appId, userIds: [id] }, tools)
    await waitingForRows(world(), 1)
    return [erasing]
  })
  await Promise.all(erasing)
})
