import { expect, test } from 'vitest'
import { exportOf } from '../support/exported.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()
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

test('an export says when preferences were last changed', async () => {
  const { db, appId } = world()
  const gus = await world().user('gus')
  await gus.preferences.update({ reactions: false })
  await db`
    update preferences
    set updated_at = '2025-01-01'
    where app_id = ${appId}
      and user_id = 'gus'`
  await gus.preferences.update({ mentions: false })
  const items = await exportOf(world(), 'gus')
  const chosen = { reactions: false, mentions: false }
  expect(items.find(({ kind }) => kind === 'preferences')?.data).toEqual({
    chosen,
    updatedAt: expect.not.stringMatching(/^2025-01-01/),
  })
})

test('each time in an export comes from the column of the same name', async () => {
  const { db, appId } = world()
  const [eve, fay] = await world().users('eve', 'fay')
  await eve.devices.create({ platform: 'ios', provider: 'apns', token: 'of-eve' })
  await eve.preferences.update({ reactions: false })
  const { id: workspaceId } = await fay.workspaces.create({ name: 'Team', type: 'team' })
  await eve.invites.accept(await fay.invites.create({ workspaceId, role: 'admin' }))
  await eve.invites.create({ workspaceId })
  const { id: channelId } = await fay.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['eve'] },
  })
  const ref = { channelId, messageId: (await fay.messages.send({ channelId, text: '1' })).id }
  await eve.reads.mark({ channelId })
  await eve.reactions.add({ ...ref, emoji: '👍' })
  await eve.pins.pin(ref)
  const { id: messageId } = await eve.messages.send({ channelId, text: '2' })
  await eve.messages.edit({ channelId, messageId, text: '3' })
  const columns = [
    ...['users.created_at', 'users.updated_at', 'users.last_active_at'],
    ...['devices.created_at', 'devices.updated_at', 'preferences.updated_at'],
    ...['workspace_members.joined_at', 'members.joined_at', 'reactions.created_at'],
    ...['messages.created_at', 'messages.edited_at', 'read_marks.read_at', 'pins.pinned_at'],
    ...['workspace_invites.created_at', 'workspace_invites.expires_at'],
    'workspace_invite_uses.used_at',
  ]
  const owners: Record<string, string> = {
    ...{ users: 'id', pins: 'pinned_by', workspace_invites: 'created_by' },
  }
  // A cleanup deletes invites that have ended, and the last activity is noted a moment later.
  const yearOf = (name: string) => (/\.(expires|last_active)_at$/.test(name) ? 2099 : 2025)
  const timeOf = (name: string) => `${yearOf(name)}-01-${10 + columns.indexOf(name)}T00:00:00.000Z`
  for (const name of columns) {
    const [table = '', column = ''] = name.split('.')
    await db`
      update ${db(table)}
      set ${db(column)} = ${timeOf(name)}
      where app_id = ${appId}
        and ${db(owners[table] ?? 'user_id')} = 'eve'`
  }
  const items = await exportOf(world(), 'eve')
  const shown = items.flatMap(({ kind, data }) =>
    Object.entries(data).flatMap(([field, value]) =>
      field.endsWith('At') && value !== null ? [[`${kind}.${field}`, value]] : [],
    ),
  )
  expect(Object.fromEntries(shown)).toEqual({
    'profile.createdAt': timeOf('users.created_at'),
    'profile.updatedAt': timeOf('users.updated_at'),
    'profile.lastActiveAt': timeOf('users.last_active_at'),
    'device.createdAt': timeOf('devices.created_at'),
    'device.updatedAt': timeOf('devices.updated_at'),
    'preferences.updatedAt': timeOf('preferences.updated_at'),
    'workspace.joinedAt': timeOf('workspace_members.joined_at'),
    'membership.joinedAt': timeOf('members.joined_at'),
    'message.createdAt': timeOf('messages.created_at'),
    'message.editedAt': timeOf('messages.edited_at'),
    'reaction.createdAt': timeOf('reactions.created_at'),
    'read.readAt': timeOf('read_marks.read_at'),
    'pin.pinnedAt': timeOf('pins.pinned_at'),
    'invite.createdAt': timeOf('workspace_invites.created_at'),
    'invite.expiresAt': timeOf('workspace_invites.expires_at'),
    'inviteUse.usedAt': timeOf('workspace_invite_uses.used_at'),
  })
})
