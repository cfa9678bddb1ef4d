import { describe, expect, test } from 'vitest'
import { channelEventsOf, userEventsOf } from '../support/events.ts'
import { forbidden, invalid, notFound, refusal, refusals } from '../support/refusal.ts'
import { useSharedWorld } from '../support/world.ts'
import { rolesIn, staffedChannelIn } from './fixture.ts'

const world = useSharedWorld()
const staffed = staffedChannelIn(world)

describe('changing roles', () => {
  test('only owners change roles', async () => {
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

  test('metadata of a member is cleared with null, and exists in direct messages', async () => {
    const { channelId, ana, ben } = await staffed('group')
    const own = { channelId, userId: 'ben' }
    await ben.members.update({ ...own, custom: { desk: 3 } })
    await ana.members.leave({ channelId })
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'channel.member_updated',
      payload: { userId: 'ben', role: 'owner', custom: { desk: 3 } },
    })
    expect((await ben.members.update({ ...own, custom: null })).custom).toEqual({})
    const { id } = await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
    const direct = { channelId: id, userId: 'ben' }
    const changed = await ben.members.update({ ...direct, custom: { desk: 4 } })
    expect(changed.custom).toEqual({ desk: 4 })
  })

  test('an owner changes the role of another owner', async () => {
    const { channelId, ana, ben } = await staffed('group')
    await ana.members.update({ channelId, userId: 'ben', role: 'owner' })
    const changed = await ana.members.update({ channelId, userId: 'ben', role: 'member' })
    expect(changed.role).toBe('member')
    expect(await rolesIn(ben, channelId)).toContain('ben member')
  })

  test('a role and metadata that stay the same emit no event', async () => {
    const { channelId, ana } = await staffed('group')
    const ben = { channelId, userId: 'ben', role: 'moderator', custom: { desk: 3 } } as const
    await ana.members.update(ben)
    const before = await channelEventsOf(world(), channelId)
    await ana.members.update(ben)
    await ana.members.update({ channelId, userId: 'ana', role: 'owner' })
    expect(await channelEventsOf(world(), channelId)).toEqual(before)
  })

  test('the last owner cannot give up the role', async () => {
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

describe('removing members', () => {
  test('owners remove anyone, and moderators remove plain members', async () => {
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

  test('a removed member loses every right', async () => {
    const { channelId, ana, cem } = await staffed('group')
    const { id: messageId } = await cem.messages.send({ channelId, text: 'mine' })
    await ana.members.remove({ channelId, userId: 'cem' })
    const ref = { channelId, messageId }
    const calls = [
      cem.channels.get({ channelId }),
      cem.messages.list({ channelId }),
      cem.messages.send({ channelId, text: 'more' }),
      cem.messages.edit({ ...ref, text: 'x' }),
      cem.messages.delete(ref),
      cem.reactions.add({ ...ref, emoji: '👍' }),
      cem.pins.pin(ref),
      cem.pins.list({ channelId }),
      cem.reads.mark({ channelId }),
      cem.members.leave({ channelId }),
      cem.members.join({ channelId }),
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

  test('removing oneself is the same as leaving', async () => {
    const { channelId, ana, cem } = await staffed('private')
    await cem.members.remove({ channelId, userId: 'cem' })
    await ana.members.remove({ channelId, userId: 'ana' })
    expect(await rolesIn(await world().user('ben'), channelId)).toEqual(['ben owner'])
  })
})

test('the members of a direct message never change', async () => {
  const [ana, ben, cem] = await world().users('pair-ana', 'pair-ben', 'pair-cem')
  const { id: channelId } = await ana.channels.create({
    type: 'messaging',
    memberIds: ['pair-ben'],
  })
  const calls = [
    ana.members.add({ channelId, userIds: ['pair-cem'] }),
    ana.members.update({ channelId, userId: 'pair-ben', role: 'owner' }),
    ana.members.remove({ channelId, userId: 'pair-ben' }),
    ana.members.remove({ channelId, userId: 'pair-ana' }),
    ben.members.leave({ channelId }),
    cem.members.join({ channelId }),
    cem.members.list({ channelId }),
  ]
  for (const call of await refusals(calls)) expect(call).toEqual(forbidden)
  expect(await rolesIn(ben, channelId)).toEqual(['pair-ana owner', 'pair-ben member'])
})
