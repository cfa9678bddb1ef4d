import { expect, test, vi } from 'vitest'
import { channelEventsOf, upTo } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { waitingForRows, whileLocked, whileUserLocked } from './support/locks.ts'
import { outcome, rowsOf, talk } from './support/races.ts'
import { patient } from './support/until.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('a deleted user acquires nothing, even before the node knows', async () => {
  const { ana, channelId } = await talk(world(), 'public')
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const { token } = await ana.invites.create({ workspaceId })
  const dan = await world().user('dan')
  await dan.members.join({ channelId })
  const own = await dan.workspaces.create({ name: 'Own', type: 'team' })
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  await dan.channels.list()
  const { db, appId } = world()
  await db`
    update users
    set deleted_at = now()
    where app_id = ${appId}
      and id = 'dan'`
  const calls = [
    dan.channels.create({ type: 'group', name: 'Talk', memberIds: ['ana'] }),
    dan.members.join({ channelId: open.id }),
    dan.messages.send({ channelId, text: 'hi' }),
    dan.reactions.add({ channelId, messageId, emoji: '👍' }),
    dan.workspaces.create({ name: 'Mine', type: 'team' }),
    dan.invites.accept({ token }),
    dan.invites.create({ workspaceId: own.id }),
    dan.devices.create({ platform: 'ios', provider: 'apns', token: 'dan' }),
    dan.preferences.update({ mentions: false }),
  ]
  for (const result of await Promise.all(calls.map(outcome))) expect(result).toBe('INVALID_TOKEN')
})

test('a user who is deleted meanwhile does not come back by a change of their own', async () => {
  const { backend, users } = world()
  for (const [userId, change] of [
    ['eva', (eva: User) => eva.users.put({ userId: 'eva', name: 'Eva again' })],
    ['eda', (eda: User) => eda.users.sync({ users: [{ id: 'eda', name: 'Eda again' }] })],
  ] as const) {
    const [user] = await users(userId)
    const { deleted, changed } = await whileUserLocked(world(), userId, async () => {
      const deleted = outcome(backend.users.delete({ userId }))
      await waitingForRows(world(), 1)
      const changed = outcome(change(user))
      await waitingForRows(world(), 2)
      return { deleted, changed }
    })
    expect(await deleted).toBe('done')
    expect(await changed).toBe('INVALID_TOKEN')
    expect(await outcome(backend.users.get({ userId }))).toBe('NOT_FOUND')
  }
})

test('a user who is erased meanwhile does not come back by a change of their own', async () => {
  const eko = await world().user('eko')
  await eko.channels.list()
  const { db, appId, backend } = world()
  await db`
    update users
    set deleted_at = now(), forgotten_at = now()
    where app_id = ${appId}
      and id = 'eko'`
  expect(await outcome(eko.users.put({ userId: 'eko', name: 'Eko again' }))).toBe('INVALID_TOKEN')
  expect(await outcome(backend.users.get({ userId: 'eko' }))).toBe('NOT_FOUND')
})

test("removing a reaction during the user's deletion still emits its event", async () => {
  const { ana, channelId } = await talk(world(), 'public')
  const rik = await world().user('rik')
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const reaction = { channelId, messageId, emoji: '👍' }
  await rik.members.join({ channelId })
  await rik.reactions.add(reaction)
  const { removed } = await whileLocked(world(), channelId, async (waiting) => {
    const removed = outcome(rik.reactions.remove(reaction))
    await waiting(1)
    await world().backend.users.delete({ userId: 'rik' })
    return { removed }
  })
  expect(await removed).toBe('INVALID_TOKEN')
  await vi.waitFor(async () => {
    const types = (await channelEventsOf(world(), channelId)).map(({ type }) => type)
    expect(types).toContain('reaction.removed')
  }, patient)
})

test('no message of a removed member is stored after a concurrent removal', async () => {
  for (const round of upTo(6)) {
    const { ana, ben, channelId } = await talk(world())
    await ben.messages.send({ channelId, text: 'warm' })
    const calls = [
      () => ana.members.remove({ channelId, userId: 'ben' }),
      () => ben.messages.send({ channelId, text: 'last word' }),
    ]
    if (round % 2) calls.reverse()
    const results = await whileLocked(world(), channelId, async (waiting) => {
      const first = outcome(calls[0]?.() ?? Promise.reject())
      await waiting(1)
      const second = outcome(calls[1]?.() ?? Promise.reject())
      await waiting(2)
      return { first, second }
    })
    const [removed, sent] =
      round % 2
        ? [await results.second, await results.first]
        : [await results.first, await results.second]
    expect(removed).toBe('done')
    expect(['done', 'FORBIDDEN']).toContain(sent)
    const left = (await channelEventsOf(world(), channelId)).find(
      ({ type }) => type === 'channel.member_left',
    )
    const after = (await rowsOf(world(), channelId)).filter(({ rev }) => rev > (left?.offset ?? 0))
    expect(after).toEqual([])
    expect(await rowsOf(world(), channelId)).toHaveLength(sent === 'done' ? 2 : 1)
  }
})

test('a channel with members has an owner, however many leave at once', async () => {
  for (const round of upTo(12)) {
    const { ana, ben, cem, channelId } = await talk(world())
    if (round % 2) await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
    expect(
      await Promise.all([ana, ben].map((user) => outcome(user.members.leave({ channelId })))),
    ).toEqual(['done', 'done'])
    expect((await cem.members.list({ channelId })).members).toMatchObject([
      { userId: 'cem', role: 'owner' },
    ])
    expect((await cem.channels.get({ channelId })).memberCount).toBe(1)
  }
})

test('when two owners step down at once, one stays owner', async () => {
  const { ana, ben, channelId } = await talk(world())
  for (const _ of upTo(6)) {
    const owner = (await ana.channels.get({ channelId })).role === 'owner' ? ana : ben
    await owner.members.update({ channelId, userId: owner === ana ? 'ben' : 'ana', role: 'owner' })
    const results = await Promise.all(
      [ana, ben].map((user) =>
        outcome(user.members.update({ channelId, userId: user.id, role: 'member' })),
      ),
    )
    expect(results.sort()).toEqual(['FORBIDDEN', 'done'])
  }
})

test('when two owners remove each other at once, one is removed', async () => {
  const { ana, ben, cem, channelId } = await talk(world())
  await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
  const results = await Promise.all([
    outcome(ana.members.remove({ channelId, userId: 'ben' })),
    outcome(ben.members.remove({ channelId, userId: 'ana' })),
  ])
  expect(results.sort()).toEqual(['FORBIDDEN', 'done'])
  expect(
    (await cem.members.list({ channelId })).members.filter(({ role }) => role === 'owner'),
  ).toHaveLength(1)
})

test('joining twenty times at once is the same as joining once', async () => {
  const { channelId } = await talk(world(), 'public')
  const dora = await world().user('dora')
  await Promise.all(
    upTo(20).map((n) =>
      n % 2 ? dora.members.join({ channelId }) : dora.messages.send({ channelId, text: 'hi' }),
    ),
  )
  expect(await dora.channels.get({ channelId })).toMatchObject({
    memberCount: 4,
    lastMessage: { seq: 10 },
  })
  expect(
    (await channelEventsOf(world(), channelId)).filter(
      ({ type, payload }) => type === 'channel.member_joined' && payload.userId === 'dora',
    ),
  ).toHaveLength(1)
})

test('each message to a public channel joins it again, if the author has left', async () => {
  const { channelId } = await talk(world(), 'public')
  const dora = await world().user('dora')
  for (const n of upTo(20)) {
    const sent = outcome(dora.messages.send({ channelId, text: `${n}` }))
    let left = ''
    while (left !== 'done') left = await outcome(dora.members.leave({ channelId }))
    expect(await sent).toBe('done')
  }
  let isIn = false
  for (const { type, payload } of await channelEventsOf(world(), channelId)) {
    if (type === 'message.new') expect(isIn).toBe(true)
    if (payload.userId === 'dora') isIn = type === 'channel.member_joined'
  }
  expect(await rowsOf(world(), channelId)).toHaveLength(20)
})

test('adding the same users to many channels at once causes no deadlock', async () => {
  const extras = await insertUsers(world(), 'many', 40)
  const ana = await world().user('ana')
  const channels = await Promise.all(
    upTo(8).map((n) => ana.channels.create({ type: 'group', name: `Many ${n}` })),
  )
  const results = await Promise.all(
    channels.map(({ id: channelId }, n) =>
      outcome(ana.members.add({ channelId, userIds: n % 2 ? extras : [...extras].reverse() })),
    ),
  )
  expect(new Set(results)).toEqual(new Set(['done']))
  const streams = await world().db<{ userId: string }[]>`
    select user_id
    from user_streams
    where app_id = ${world().appId}
      and user_id = any(${extras})
      and last_offset = 8`
  expect(streams).toHaveLength(40)
})
