import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { channelEventsOf, upTo, userEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { insertUsers } from '../support/inserted.ts'
import { complaint, forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { ADMIN_KEY, useSharedWorld } from '../support/world.ts'
import { rolesIn, staffedChannelIn } from './fixture.ts'

const world = useSharedWorld()
const staffed = staffedChannelIn(world)

describe('listing members', () => {
  test('members are listed in pages, in the order they joined', async () => {
    const [ana] = await world().users('ana', 'ben', 'cem')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Ordered' })
    for (const userId of ['cem', 'ben']) await ana.members.add({ channelId, userIds: [userId] })
    const ids = async (page: { limit?: number; offset?: number }) =>
      (await ana.members.list({ channelId, ...page })).members.map(({ userId }) => userId)
    expect([
      await ids({}),
      await ids({ limit: 2 }),
      await ids({ limit: 1, offset: 1 }),
      await ids({ limit: 2, offset: 2 }),
      await ids({ offset: 3 }),
    ]).toEqual([['ana', 'cem', 'ben'], ['ana', 'cem'], ['cem'], ['ben'], []])
    for (const query of ['limit=0', 'limit=x', 'offset=-1'])
      expect(
        (await rest(world(), ana)('GET', `/api/channels/${channelId}/members?${query}`)).status,
      ).toBe(400)
  })

  test('members are listed to users who may read the channel', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const open = await ana.channels.create({ type: 'public', name: 'Open' })
    const closed = await ana.channels.create({ type: 'group', name: 'Closed' })
    expect(await rolesIn(ben, open.id)).toEqual(['ana owner'])
    expect(await refusal(ben.members.list({ channelId: closed.id }))).toEqual(forbidden)
    expect(await refusal(ben.members.list({ channelId: unknownId }))).toEqual(notFound)
    expect(await refusal(ben.members.list({ channelId: 'general' }))).toEqual(notFound)
  })
})

describe('adding members', () => {
  test.each(['group', 'public'] as const)(
    'every member of a %s channel adds members',
    async (type) => {
      const { channelId, cem } = await staffed(type)
      expect(await cem.members.add({ channelId, userIds: ['dora'] })).toMatchObject({
        memberCount: 4,
        members: [{ userId: 'dora', role: 'member', user: { id: 'dora' } }],
      })
    },
  )

  test.each(['team', 'private', 'livestream'] as const)(
    'only owners and moderators of a %s channel add members',
    async (type) => {
      const { channelId, ana, ben, cem } = await staffed(type)
      await world().user('eva')
      expect(await refusal(cem.members.add({ channelId, userIds: ['dora'] }))).toEqual(forbidden)
      expect((await ben.members.add({ channelId, userIds: ['dora'] })).memberCount).toBe(4)
      expect((await ana.members.add({ channelId, userIds: ['eva'] })).memberCount).toBe(5)
    },
  )

  test('users outside a channel add no members, even where they may read', async () => {
    for (const type of ['public', 'group'] as const) {
      const { channelId, dora } = await staffed(type)
      expect(await refusal(dora.members.add({ channelId, userIds: ['dora'] }))).toEqual(forbidden)
    }
  })

  test('only owners add members with a role', async () => {
    const { channelId, ana, ben, cem, dora } = await staffed('group')
    for (const role of ['moderator', 'owner'] as const) {
      for (const user of [ben, cem])
        expect(await refusal(user.members.add({ channelId, userIds: ['dora'], role }))).toEqual(
          forbidden,
        )
    }
    await ana.members.add({ channelId, userIds: ['dora'], role: 'owner' })
    expect(await dora.channels.get({ channelId })).toMatchObject({ role: 'owner', memberCount: 4 })
  })

  test('adding existing members changes nothing and emits no event', async () => {
    const { channelId, ana } = await staffed('group')
    const before = await channelEventsOf(world(), channelId)
    const answer = await ana.members.add({
      channelId,
      userIds: ['ben', 'dora', 'cem', 'dora'],
      role: 'owner',
    })
    expect(answer.memberCount).toBe(4)
    expect(answer.members.map(({ userId, role }) => `${userId} ${role}`)).toEqual([
      'ben moderator',
      'cem member',
      'dora owner',
    ])
    const emitted = (await channelEventsOf(world(), channelId)).slice(before.length)
    expect(emitted).toMatchObject([
      { type: 'channel.member_joined', payload: { userId: 'dora', role: 'owner', memberCount: 4 } },
    ])
    const dora = await world().user('dora')
    const { unreadVersion } = await dora.channels.get({ channelId })
    const last = (await userEventsOf(world(), 'dora')).at(-1)
    // The log would keep its text after a deletion.
    expect(last).not.toHaveProperty('payload.channel.lastMessage')
    expect(last).toMatchObject({
      type: 'channel.added',
      payload: {
        channel: {
          id: channelId,
          role: 'owner',
          memberCount: 4,
          unreadCount: 0,
          unreadVersion,
          rev: emitted[0]?.offset,
        },
      },
    })
  })

  test('the error lists unknown users, and then no one is added', async () => {
    const { channelId, ana } = await staffed('group')
    const call = () => ana.members.add({ channelId, userIds: ['dora', 'ghost', 'phantom'] })
    expect(await refusal(call())).toEqual(invalid)
    expect(await complaint(call())).toMatch(/userIds.*"ghost", "phantom"/)
    expect(await rolesIn(ana, channelId)).toEqual(['ana owner', 'ben moderator', 'cem member'])
  })

  test('one call adds one to a thousand members', async () => {
    const { channelId, ana } = await staffed('group')
    const extras = await insertUsers(world(), 'extra', 1_001)
    for (const userIds of [[], extras])
      expect(await refusal(ana.members.add({ channelId, userIds }))).toEqual(invalid)
    expect((await ana.members.add({ channelId, userIds: extras.slice(1) })).memberCount).toBe(1_003)
    expect((await ana.members.list({ channelId, limit: 5_000 })).members).toHaveLength(1_000)
    expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual(
      upTo(1_004),
    )
  })

  test('earlier messages are not unread for a new member', async () => {
    const { channelId, ana, dora } = await staffed('group')
    for (const text of ['one', 'two']) await ana.messages.send({ channelId, text })
    await ana.members.add({ channelId, userIds: ['dora'] })
    expect(await dora.channels.get({ channelId })).toMatchObject({ unreadCount: 0, lastReadSeq: 0 })
    await ana.messages.send({ channelId, text: 'three' })
    expect(await dora.channels.get({ channelId })).toMatchObject({ unreadCount: 1 })
  })
})

test('the members of a channel of another app, and malformed user ids, are not found', async () => {
  const { channelId, ana } = await staffed('public')
  const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
  const stranger = await world().user('ana', {}, world().api({ apiKey }))
  const call = (id: string, method: string, path: string, body?: object) =>
    rest(world(), stranger)(method, `/api/channels/${id}${path}`, body)
  for (const [method, path, body] of [
    ['GET', '/members', undefined],
    ['POST', '/members', { userIds: ['ana'] }],
    ['PATCH', '/members/ben', { role: 'owner' }],
    ['DELETE', '/members/ben', undefined],
    ['POST', '/join', {}],
    ['POST', '/leave', {}],
  ] as const) {
    const unknown = await call(unknownId, method, path, body)
    expect(unknown.status).toBe(404)
    expect(await call(channelId, method, path, body)).toEqual(unknown)
  }
  for (const userId of ['%20', 'a%2Fb', 'x'.repeat(256)])
    expect(
      (await rest(world(), ana)('DELETE', `/api/channels/${channelId}/members/${userId}`)).status,
    ).toBe(404)
})

test('the events for new members of a large channel have at most 4 MB a call', async () => {
  const { db, appId } = world()
  const ids = await insertUsers(world(), 'added-', limits.membersPerCall)
  const large = {
    type: 'group' as const,
    name: '😀'.repeat(limits.nameLength),
    description: '\u0001'.repeat(limits.descriptionLength),
    custom: { text: '\u0001'.repeat(1_300) },
  }
  const [ana] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create(large)
  const add = (count: number) => ana.members.add({ channelId, userIds: ids.slice(0, count) })
  expect(await refusal(add(ids.length))).toEqual(invalid)
  const [, most = '0'] = (await complaint(add(ids.length))).match(/at most (\d+) new members/) ?? []
  expect(await refusal(add(Number(most) + 1))).toEqual(invalid)
  expect(await rolesIn(ana, channelId)).toEqual(['ana owner'])
  expect((await add(Number(most))).memberCount).toBe(Number(most) + 1)
  const [stored] = await db`
    select sum(octet_length(envelope))::int as bytes
    from events
    where topic like ${`user:${appId}:added-%`}`
  expect(stored?.bytes).toBeLessThan(limits.newMembersBytes)
  expect(stored?.bytes).toBeGreaterThan(0.9 * limits.newMembersBytes)
  expect(await refusal(ana.channels.create({ ...large, memberIds: ids }))).toEqual(invalid)
  expect((await ana.channels.create({ ...large, memberIds: ['ben'] })).memberCount).toBe(2)
})
