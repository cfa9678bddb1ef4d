import { expect, test } from 'vitest'
import { exportOf } from '../support/exported.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const time = expect.stringMatching(/^\d{4}-.*Z$/)

test('each item of an export says all that is stored of it, as its owner has set it', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const image = 'https://example.com/ana.png'
  const profile = { name: 'Ana A', email: 'ana@example.com', image, custom: { plan: 'pro' } }
  await ana.users.put({ userId: 'ana', ...profile })
  await ben.preferences.update({ mentions: false })
  await ana.preferences.update({ reactions: false })
  const kind = { platform: 'ios', provider: 'apns' } as const
  const device = { ...kind, deviceId: 'phone', appVersion: '1.2' }
  await ana.devices.create({ ...device, token: 'of-ana' })
  const { id: workspaceId } = await ben.workspaces.create({ name: 'Team', type: 'team' })
  const { token } = await ben.invites.create({ workspaceId, role: 'admin' })
  await ana.invites.accept({ token })
  const invite = await ana.invites.create({ workspaceId, role: 'member', expiresInDays: 3 })
  const cem = await world().user('cem')
  await cem.invites.accept({ token: invite.token })
  const { id: channelId } = await ben.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['ana'] },
  })
  await ben.members.update({ channelId, userId: 'ana', role: 'moderator' })
  await ana.members.update({ channelId, userId: 'ana', custom: { seat: 3 } })
  await ana.channels.updateSettings({ channelId, starred: true, muted: true })
  const root = await ben.messages.send({ channelId, text: 'root' })
  const quoted = await ben.messages.send({ channelId, text: 'quoted' })
  const attachments = [{ type: 'image', url: image }]
  const { id } = await ana.messages.send({
    ...{ channelId, parentId: root.id, quotedMessageId: quoted.id, clientId: 'c1' },
    ...{ text: 'hi', attachments, custom: { n: 1 } },
  })
  await ana.messages.edit({ channelId, messageId: id, text: 'Hi @ben' })
  const items = await exportOf(world(), 'ana')
  const of = (kind: string) => items.filter((item) => item.kind === kind).map(({ data }) => data)
  const times = { createdAt: time, updatedAt: time }
  expect(of('profile')).toEqual([{ id: 'ana', ...profile, ...times, lastActiveAt: time }])
  expect(of('device')).toEqual([{ id: expect.any(String), ...device, ...times }])
  expect(of('preferences')).toEqual([{ chosen: { reactions: false }, updatedAt: time }])
  expect(of('workspace')).toEqual([
    { workspaceId, role: 'admin', isCreator: false, joinedAt: time },
  ])
  expect(of('membership')).toEqual([
    {
      ...{ channelId, role: 'moderator', lastReadSeq: 0, starred: true, muted: true },
      ...{ custom: { seat: 3 }, isCreator: false, joinedAt: time },
    },
  ])
  expect(of('message')).toEqual([
    {
      ...{ id, channelId, seq: 3, parentId: root.id, quotedMessageId: quoted.id },
      ...{ text: 'Hi @ben', mentions: ['ben'], attachments, custom: { n: 1 }, clientId: 'c1' },
      ...{ createdAt: time, editedAt: time, deletedAt: null },
    },
  ])
  expect(of('invite')).toEqual([
    {
      ...{ inviteId: invite.id, workspaceId, role: 'member', uses: 1 },
      ...{ createdAt: time, expiresAt: invite.expiresAt },
    },
  ])
  expect(of('inviteUse')).toEqual([
    { inviteId: expect.not.stringContaining(invite.id), workspaceId, usedAt: time },
  ])
  expect(of('formerMembership')).toEqual([])
  expect(of('read')).toEqual([])
})
