import { expect, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { exportOf } from '../support/exported.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** All items but the profile. */
const itemsOf = async (userId: string) =>
  (await exportOf(world(), userId)).filter(({ kind }) => kind !== 'profile')

/** Has a user leave a trace in every part of an export, where ben is as well. */
async function populate(userId: string) {
  const user = await world().user(userId)
  const ben = await world().user('ben')
  const memberIds = ['ben']
  const { id: channelId } = await user.channels.create({ type: 'group', name: 'One', memberIds })
  const { id: leftId } = await user.channels.create({ type: 'group', name: 'Left', memberIds })
  await user.members.leave({ channelId: leftId })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'theirs' })
  await user.messages.send({ channelId, text: 'mine' })
  await user.reactions.add({ channelId, messageId, emoji: '👍' })
  await user.reads.mark({ channelId, messageId })
  await user.pins.pin({ channelId, messageId })
  await user.devices.create({ platform: 'ios', provider: 'apns', token: `of-${userId}` })
  await user.preferences.update({ mentions: false })
  const { id: workspaceId } = await user.workspaces.create({ name: 'Team', type: 'team' })
  const { token } = await user.invites.create({ workspaceId })
  await ben.invites.accept({ token })
  const other = await ben.workspaces.create({ name: 'Other', type: 'team' })
  await user.invites.accept({ token: (await ben.invites.create({ workspaceId: other.id })).token })
  return { user, ben, channelId, leftId, workspaceId }
}

test('no part of an export has data of an earlier user of the same id', async () => {
  const { backend } = world()
  const { ben, channelId, leftId, workspaceId } = await populate('gil')
  expect(new Set((await itemsOf('gil')).map(({ kind }) => kind)).size).toBe(11)
  await backend.users.delete({ userId: 'gil' })
  await erased(world())
  const again = await world().user('gil')
  expect(await itemsOf('gil')).toEqual([])
  // The new user is added to the channels and the workspace of the user before.
  for (const id of [channelId, leftId]) await ben.members.add({ channelId: id, userIds: ['gil'] })
  await again.members.leave({ channelId: leftId })
  await again.invites.accept({ token: (await ben.invites.create({ workspaceId })).token })
  const items = await itemsOf('gil')
  expect(items.map(({ kind }) => kind)).toEqual([
    ...['workspace', 'membership', 'formerMembership', 'inviteUse'],
  ])
  const creators = items.flatMap(({ data }) => ('isCreator' in data ? [data.isCreator] : []))
  expect(creators).toEqual([false, false, false])
  // Actions of the new user are in their export.
  await populate('gil')
  await world().backend.users.put({ userId: 'gil', name: 'Renamed' })
  const own = await itemsOf('gil')
  expect(new Set(own.map(({ kind }) => kind)).size).toBe(11)
  expect(own.filter(({ kind }) => kind === 'pin')).toHaveLength(1)
  expect(own.filter(({ data }) => data.isCreator === true).map(({ kind }) => kind)).toEqual([
    ...['workspace', 'membership', 'formerMembership'],
  ])
})
