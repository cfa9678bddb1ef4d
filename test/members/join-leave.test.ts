import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { insertWorkspace } from '../support/inserted.ts'
import { forbidden, notFound, refusal } from '../support/refusal.ts'
import { useSharedWorld } from '../support/world.ts'
import { rolesIn, staffedChannelIn } from './fixture.ts'

const world = useSharedWorld()
const staffed = staffedChannelIn(world)

describe('joining a channel', () => {
  test.each(['public', 'livestream'] as const)(
    'everyone may join a %s channel, and joining twice is the same as once',
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

  test('joining again keeps the role of a member', async () => {
    const { channelId, ana } = await staffed('private')
    expect(await ana.members.join({ channelId })).toMatchObject({ role: 'owner' })
  })

  test.each(['group', 'private', 'team'] as const)(
    'no user joins a %s channel without an invitation',
    async (type) => {
      const { channelId, dora } = await staffed(type)
      expect(await refusal(dora.members.join({ channelId }))).toEqual(forbidden)
    },
  )

  test('members of a workspace join its team channels, and others do not', async () => {
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

describe('leaving a channel', () => {
  test('the oldest moderator replaces the last owner who leaves', async () => {
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

  test('without moderators the oldest member becomes owner, in that channel only', async () => {
    const [ana, ben] = await world().users('ana', 'ben', 'cem')
    const create = (name: string) => ana.channels.create({ type: 'group', name })
    const [{ id: channelId }, other] = [await create('Heirs'), await create('Others')]
    for (const { id } of [{ id: channelId }, other])
      for (const userIds of [['cem'], ['ben']]) await ana.members.add({ channelId: id, userIds })
    await ana.members.leave({ channelId })
    expect(await rolesIn(ben, channelId)).toEqual(['cem owner', 'ben member'])
    expect(await rolesIn(ben, other.id)).toEqual(['ana owner', 'cem member', 'ben member'])
  })

  test('no role changes when a member leaves while another owner remains', async () => {
    const { channelId, ana, ben, cem } = await staffed('group')
    await ana.members.update({ channelId, userId: 'cem', role: 'owner' })
    await ana.members.leave({ channelId })
    expect(await rolesIn(ben, channelId)).toEqual(['ben moderator', 'cem owner'])
    await ben.members.leave({ channelId })
    expect(await rolesIn(cem, channelId)).toEqual(['cem owner'])
    expect(await cem.members.leave({ channelId })).toEqual({ success: true })
    const [row] = await world().db`
      select member_count
      from channels
      where id = ${channelId}`
    expect(row).toEqual({ memberCount: 0 })
  })

  test('only members leave a channel', async () => {
    const { channelId, dora } = await staffed('public')
    expect(await refusal(dora.members.leave({ channelId }))).toEqual(forbidden)
    expect(await refusal(dora.members.leave({ channelId: unknownId }))).toEqual(notFound)
  })
})

test('memberCount equals the number of members, whatever is repeated', async () => {
  const { channelId, ana, cem, dora } = await staffed('public')
  const steps = [
    () => dora.members.join({ channelId }),
    () => dora.members.join({ channelId }),
    () => ana.members.add({ channelId, userIds: ['dora', 'ben'] }),
    () => cem.members.leave({ channelId }),
    () => cem.members.leave({ channelId }).catch(() => {}),
    () => ana.members.remove({ channelId, userId: 'cem' }).catch(() => {}),
    () => cem.messages.send({ channelId, text: 'back' }),
    () => ana.members.leave({ channelId }),
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
