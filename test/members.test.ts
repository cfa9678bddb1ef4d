import { describe, expect, test } from 'vitest'
import { channelEventsOf, upTo, userEventsOf } from './support/events.ts'
import { insertCrowd, insertWorkspace } from './support/inserted.ts'
import { complaint, forbidden, invalid, notFound, refusal, refusals } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { ADMIN_KEY, type User, useWorld } from './support/world.ts'

const world = useWorld()
const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

const rolesIn = async (reader: User, channelId: string) =>
  (await reader.members.list({ channelId })).members.map(({ userId, role }) => `${userId} ${role}`)

/** A channel of ana's with ben as moderator and cem as member. */
const staffed = async (type: 'group' | 'team' | 'livestream' | 'public' | 'private') => {
  const [ana, ben, cem, dora] = await world().users('ana', 'ben', 'cem', 'dora')
  const { id: channelId } = await ana.channels.create({ type, name: 'Staffed', memberIds: ['ben'] })
  await ana.members.add({ channelId, userIds: ['cem'] })
  await ana.members.update({ channelId, userId: 'ben', role: 'moderator' })
  return { channelId, ana, ben, cem, dora }
}

describe('listing', () => {
  test('shows members in the order they joined, in pages', async () => {
    const [ana] = await world().users('ana', 'ben', 'cem')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Ordered' })
    for (const userId of ['cem', 'ben']) await ana.members.add({ channelId, userIds: [userId] })
    const ids = async (page: { limit?: number; offset?: number }) =>
      (await ana.members.list({ channelId, ...page })).members.map(({ userId }) => userId)
    expect([
      await ids({}),
      await ids({ limit: 2 }),
      await ids({ limit: 2, offset: 2 }),
      await ids({ offset: 3 }),
    ]).toEqual([['ana', 'cem', 'ben'], ['ana', 'cem'], ['ben'], []])
    for (const query of ['limit=0', 'limit=x', 'offset=-1'])
      expect(
        (await rest(world(), ana)('GET', `/api/channels/${channelId}/members?${query}`)).status,
      ).toBe(400)
  })

  test('is for those who may read the channel', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const open = await ana.channels.create({ type: 'public', name: 'Open' })
    const closed = await ana.channels.create({ type: 'group', name: 'Closed' })
    expect(await rolesIn(ben, open.id)).toEqual(['ana owner'])
    expect(await refusal(ben.members.list({ channelId: closed.id }))).toEqual(forbidden)
    expect(await refusal(ben.members.list({ channelId: unknownId }))).toEqual(notFound)
    expect(await refusal(ben.members.list({ channelId: 'general' }))).toEqual(notFound)
  })
})

describe('adding', () => {
  test.each(['group', 'public'] as const)('is for every member of a %s channel', async (type) => {
    const { channelId, cem } = await staffed(type)
    expect(await cem.members.add({ channelId, userIds: ['dora'] })).toMatchObject({
      memberCount: 4,
      members: [{ userId: 'dora', role: 'member', user: { id: 'dora' } }],
    })
  })

  test.each(['team', 'private', 'livestream'] as const)(
    'is for owners and moderators of a %s channel',
    async (type) => {
      const { channelId, ana, ben, cem } = await staffed(type)
      await world().user('eva')
      expect(await refusal(cem.members.add({ channelId, userIds: ['dora'] }))).toEqual(forbidden)
      expect((await ben.members.add({ channelId, userIds: ['dora'] })).memberCount).toBe(4)
      expect((await ana.members.add({ channelId, userIds: ['eva'] })).memberCount).toBe(5)
    },
  )

  test('is not for those outside, even where they may read', async () => {
    for (const type of ['public', 'group'] as const) {
      const { channelId, dora } = await staffed(type)
      expect(await refusal(dora.members.add({ channelId, userIds: ['dora'] }))).toEqual(forbidden)
    }
  })

  test('with a role is for owners', async () => {
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

  test('leaves members as they are, and tells of the new ones only', async () => {
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
    const told = (await channelEventsOf(world(), channelId)).slice(before.length)
    expect(told).toMatchObject([
      { type: 'channel.member_joined', payload: { userId: 'dora', role: 'owner', memberCount: 4 } },
    ])
    expect((await userEventsOf(world(), 'dora')).at(-1)).toMatchObject({
      type: 'channel.added',
      payload: { channel: { id: channelId, role: 'owner', memberCount: 4, unreadCount: 0 } },
    })
  })

  test('names those who are unknown, and then adds nobody', async () => {
    const { channelId, ana } = await staffed('group')
    const call = () => ana.members.add({ channelId, userIds: ['dora', 'ghost', 'phantom'] })
    expect(await refusal(call())).toEqual(invalid)
    expect(await complaint(call())).toMatch(/userIds.*"ghost", "phantom"/)
    expect(await rolesIn(ana, channelId)).toEqual(['ana owner', 'ben moderator', 'cem member'])
  })

  test('takes one to a thousand', async () => {
    const { channelId, ana } = await staffed('group')
    const crowd = await insertCrowd(world(), 'crowd', 1_001)
    for (const userIds of [[], crowd])
      expect(await refusal(ana.members.add({ channelId, userIds }))).toEqual(invalid)
    expect((await ana.members.add({ channelId, userIds: crowd.slice(1) })).memberCount).toBe(1_003)
    expect((await ana.members.list({ channelId, limit: 5_000 })).members).toHaveLength(1_000)
    expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual(
      upTo(1_004),
    )
  })

  test('makes nothing unread of what was said before', async () => {
    const { channelId, ana, dora } = await staffed('group')
    for (const text of ['one', 'two']) await ana.messages.send({ channelId, text })
    await ana.members.add({ channelId, userIds: ['dora'] })
    expect(await dora.channels.get({ channelId })).toMatchObject({ unreadCount: 0, lastReadSeq: 0 })
    await ana.messages.send({ channelId, text: 'three' })
    expect(await dora.channels.get({ channelId })).toMatchObject({ unreadCount: 1 })
  })
})

describe('roles', () => {
  test('are given by owners', async () => {
    const { channelId, ana, ben, cem, dora } = await staffed('group')
    for (const user of [ben, cem, dora])
      expect(
        await refusal(user.members.update({ channelId, userId: 'cem', role: 'moderator' })),
      ).toEqual(forbidden)
    expect(await ana.members.update({ channelId, userId: 'cem', role: 'moderator' })).toMatchObject(
      { userId: 'cem', role: 'moderator' },
    )
    expect(await rolesIn(cem, channelId)).toEqual(['ana owner', 'ben moderator', 'cem moderator'])
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'channel.member_updated',
      payload: { userId: 'cem', role: 'moderator', memberCount: 3 },
    })
    expect(await refusal(ana.members.update({ channelId, userId: 'dora', role: 'owner' }))).toEqual(
      notFound,
    )
    expect(
      await refusal(ana.members.update({ channelId, userId: 'cem', role: 'admin' as 'owner' })),
    ).toEqual(invalid)
  })

  test('that stay the same are told nobody', async () => {
    const { channelId, ana } = await staffed('group')
    const before = await channelEventsOf(world(), channelId)
    await ana.members.update({ channelId, userId: 'ben', role: 'moderator' })
    await ana.members.update({ channelId, userId: 'ana', role: 'owner' })
    expect(await channelEventsOf(world(), channelId)).toEqual(before)
  })

  test('never leave a channel without an owner', async () => {
    const { channelId, ana, ben } = await staffed('group')
    expect(await refusal(ana.members.update({ channelId, userId: 'ana', role: 'member' }))).toEqual(
      forbidden,
    )
    await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
    await ana.members.update({ channelId, userId: 'ana', role: 'member' })
    expect(
      await refusal(ben.members.update({ channelId, userId: 'ben', role: 'moderator' })),
    ).toEqual(forbidden)
    expect(await rolesIn(ben, channelId)).toEqual(['ana member', 'ben owner', 'cem member'])
  })
})

describe('removing', () => {
  test('is for owners, and of plain members for moderators', async () => {
    const { channelId, ana, ben, cem, dora } = await staffed('group')
    await ana.members.add({ channelId, userIds: ['dora'], role: 'moderator' })
    expect(await refusal(cem.members.remove({ channelId, userId: 'dora' }))).toEqual(forbidden)
    for (const userId of ['ana', 'dora'])
      expect(await refusal(ben.members.remove({ channelId, userId }))).toEqual(forbidden)
    expect(await ben.members.remove({ channelId, userId: 'cem' })).toEqual({ success: true })
    expect(await ana.members.remove({ channelId, userId: 'dora' })).toEqual({ success: true })
    expect(await rolesIn(ana, channelId)).toEqual(['ana owner', 'ben moderator'])
    expect(await refusal(ana.members.remove({ channelId, userId: 'cem' }))).toEqual(notFound)
    for (const user of [cem, dora])
      expect(await refusal(user.members.remove({ channelId, userId: 'ben' }))).toEqual(forbidden)
  })

  test('ends what the member could do, and tells everybody', async () => {
    const { channelId, ana, cem } = await staffed('group')
    const { id: messageId } = await cem.messages.send({ channelId, text: 'mine' })
    await ana.members.remove({ channelId, userId: 'cem' })
    const ref = { channelId, messageId }
    // biome-ignore format: one of each
    const calls = [
      cem.channels.get({ channelId }), cem.messages.list({ channelId }), cem.messages.send({ channelId, text: 'more' }), cem.messages.edit({ ...ref, text: 'x' }), cem.messages.delete(ref),
      cem.reactions.add({ ...ref, emoji: '👍' }), cem.pins.pin(ref), cem.pins.list({ channelId }), cem.reads.mark({ channelId }), cem.members.leave({ channelId }), cem.members.join({ channelId }),
    ]
    for (const call of await refusals(calls)) expect(call).toEqual(forbidden)
    expect((await cem.channels.list()).channels.map(({ id }) => id)).not.toContain(channelId)
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'channel.member_left',
      payload: { userId: 'cem', role: 'member', memberCount: 2 },
    })
    expect((await userEventsOf(world(), 'cem')).at(-1)).toMatchObject({
      type: 'channel.removed',
      payload: { channelId },
    })
    expect((await ana.messages.get(ref)).text).toBe('mine')
  })

  test('oneself is leaving', async () => {
    const { channelId, ana, cem } = await staffed('private')
    await cem.members.remove({ channelId, userId: 'cem' })
    await ana.members.remove({ channelId, userId: 'ana' })
    expect(await rolesIn(await world().user('ben'), channelId)).toEqual(['ben owner'])
  })
})

describe('leaving', () => {
  test('as the last owner hands over to the oldest moderator', async () => {
    const [ana, ben] = await world().users('ana', 'ben', 'cem', 'dora')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Heirs' })
    for (const userIds of [['dora'], ['cem'], ['ben']])
      await ana.members.add({ channelId, userIds })
    for (const userId of ['ben', 'cem'])
      await ana.members.update({ channelId, userId, role: 'moderator' })
    await ana.members.leave({ channelId })
    expect(await rolesIn(ben, channelId)).toEqual(['dora member', 'cem owner', 'ben moderator'])
    expect((await channelEventsOf(world(), channelId)).slice(-2)).toMatchObject([
      { type: 'channel.member_left', payload: { userId: 'ana', role: 'owner', memberCount: 3 } },
      { type: 'channel.member_updated', payload: { userId: 'cem', role: 'owner', memberCount: 3 } },
    ])
  })

  test('as the last owner hands over to the oldest member when there is no moderator', async () => {
    const [ana, ben] = await world().users('ana', 'ben', 'cem')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Heirs' })
    for (const userIds of [['cem'], ['ben']]) await ana.members.add({ channelId, userIds })
    await ana.members.leave({ channelId })
    expect(await rolesIn(ben, channelId)).toEqual(['cem owner', 'ben member'])
  })

  test('hands nothing over while there is another owner, or by who owns nothing', async () => {
    const { channelId, ana, ben, cem } = await staffed('group')
    await ana.members.update({ channelId, userId: 'cem', role: 'owner' })
    await ana.members.leave({ channelId })
    expect(await rolesIn(ben, channelId)).toEqual(['ben moderator', 'cem owner'])
    await ben.members.leave({ channelId })
    expect(await rolesIn(cem, channelId)).toEqual(['cem owner'])
    expect(await cem.members.leave({ channelId })).toEqual({ success: true })
    const [row] = await world().db`select member_count from channels where id = ${channelId}`
    expect(row).toEqual({ memberCount: 0 })
  })

  test('is for members', async () => {
    const { channelId, dora } = await staffed('public')
    expect(await refusal(dora.members.leave({ channelId }))).toEqual(forbidden)
    expect(await refusal(dora.members.leave({ channelId: unknownId }))).toEqual(notFound)
  })
})

describe('joining', () => {
  test.each(['public', 'livestream'] as const)(
    'a %s channel is for everyone, and twice is once',
    async (type) => {
      const { channelId, dora } = await staffed(type)
      const member = await dora.members.join({ channelId })
      expect(member).toMatchObject({ userId: 'dora', role: 'member' })
      const before = await channelEventsOf(world(), channelId)
      expect(await dora.members.join({ channelId })).toEqual(member)
      expect(await channelEventsOf(world(), channelId)).toEqual(before)
      expect(await dora.channels.get({ channelId })).toMatchObject({
        role: 'member',
        memberCount: 4,
      })
    },
  )

  test('keeps the role of who is a member', async () => {
    const { channelId, ana } = await staffed('private')
    expect(await ana.members.join({ channelId })).toMatchObject({ role: 'owner' })
  })

  test.each(['group', 'private', 'team'] as const)(
    'a %s channel takes an invitation',
    async (type) => {
      const { channelId, dora } = await staffed(type)
      expect(await refusal(dora.members.join({ channelId }))).toEqual(forbidden)
    },
  )

  test('a team channel is for the people of its workspace', async () => {
    const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
    const workspaceId = await insertWorkspace(world(), { ana: 'owner', ben: 'member' })
    const { id: channelId } = await ana.channels.create({
      type: 'team',
      name: 'Plans',
      workspaceId,
    })
    expect(await ben.members.join({ channelId })).toMatchObject({ role: 'member' })
    expect(await refusal(cem.members.join({ channelId }))).toEqual(forbidden)
    const secret = await ana.channels.create({ type: 'private', name: 'Secret', workspaceId })
    expect(await refusal(ben.members.join({ channelId: secret.id }))).toEqual(forbidden)
  })
})

test('the members of a direct message never change', async () => {
  const [ana, ben, cem] = await world().users('pair-ana', 'pair-ben', 'pair-cem')
  const { id: channelId } = await ana.channels.create({
    type: 'messaging',
    memberIds: ['pair-ben'],
  })
  // biome-ignore format: one of each
  const calls = [
    ana.members.add({ channelId, userIds: ['pair-cem'] }), ana.members.update({ channelId, userId: 'pair-ben', role: 'owner' }), ana.members.remove({ channelId, userId: 'pair-ben' }),
    ana.members.remove({ channelId, userId: 'pair-ana' }), ben.members.leave({ channelId }), cem.members.join({ channelId }), cem.members.list({ channelId }),
  ]
  for (const call of await refusals(calls)) expect(call).toEqual(forbidden)
  expect(await rolesIn(ben, channelId)).toEqual(['pair-ana owner', 'pair-ben member'])
})

test('memberCount is the number of members, whatever was repeated', async () => {
  const { channelId, ana, cem, dora } = await staffed('public')
  // biome-ignore format: one a step
  const steps = [
    () => dora.members.join({ channelId }), () => dora.members.join({ channelId }), () => ana.members.add({ channelId, userIds: ['dora', 'ben'] }), () => cem.members.leave({ channelId }),
    () => cem.members.leave({ channelId }).catch(() => {}), () => ana.members.remove({ channelId, userId: 'cem' }).catch(() => {}), () => cem.messages.send({ channelId, text: 'back' }), () => ana.members.leave({ channelId }),
  ]
  for (const step of steps) {
    await step()
    const { memberCount } = await dora.channels.get({ channelId })
    expect((await dora.members.list({ channelId })).members).toHaveLength(memberCount)
    expect(
      (await channelEventsOf(world(), channelId)).findLast(({ type }) =>
        type.startsWith('channel.member'),
      )?.payload.memberCount,
    ).toBe(memberCount)
  }
})

test('a channel of another app and a member with an impossible id do not exist', async () => {
  const { channelId, ana } = await staffed('public')
  const { apiKey } = await world().api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
  const stranger = await world().user('ana', {}, world().api({ apiKey }))
  const call = (id: string, method: string, path: string, body?: object) =>
    rest(world(), stranger)(method, `/api/channels/${id}${path}`, body)
  // biome-ignore format: a table
  for (const [method, path, body] of [
    ['GET', '/members', undefined], ['POST', '/members', { userIds: ['ana'] }], ['PATCH', '/members/ben', { role: 'owner' }], ['DELETE', '/members/ben', undefined],
    ['POST', '/join', {}], ['POST', '/leave', {}],
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
