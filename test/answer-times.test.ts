import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

const columns = [
  ...['apps.created_at', 'before_send_hooks.created_at', 'users.last_active_at'],
  ...['api_keys.created_at', 'api_keys.last_used_at', 'api_keys.expires_at'],
  ...['channels.created_at', 'channels.updated_at', 'channels.last_activity_at'],
  ...['messages.created_at', 'messages.updated_at', 'messages.edited_at'],
  ...['members.joined_at', 'pins.pinned_at', 'read_marks.read_at'],
  ...['workspaces.created_at', 'workspaces.updated_at', 'workspace_members.joined_at'],
  ...['workspace_invites.created_at', 'workspace_invites.expires_at'],
  ...['webhooks.created_at', 'webhooks.active_since', 'webhooks.failing_since'],
  ...['webhook_deliveries.created_at', 'webhook_deliveries.next_attempt_at'],
]
/** Each column has a year of its own, in which nothing expires soon. */
const timeOf = (name: string) => `${2070 + columns.indexOf(name)}-01-01T00:00:00.000Z`

test('each time in an answer comes from the column of the same name', async () => {
  const { db, appId, backend, operator } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  await ben.invites.accept(await ana.invites.create({ workspaceId }))
  const { id: emptyId } = await ana.workspaces.create({ name: 'Empty', type: 'team' })
  await ana.workspaces.removeMember({ workspaceId: emptyId, userId: 'ana' })
  const { id: leftId } = await ana.channels.create({ type: 'group', name: 'Left' })
  await ana.members.leave({ channelId: leftId })
  const { id: channelId } = await ana.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['ben'] },
  })
  const ref = { channelId, messageId: (await ana.messages.send({ channelId, text: '1' })).id }
  await ana.messages.edit({ ...ref, text: '2' })
  await ana.pins.pin(ref)
  await ben.reads.mark({ channelId })
  const url = 'https://8.8.8.8/hook'
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  await backend.webhooks.test({ webhookId })
  await backend.hooks.setBeforeSend({ url, onError: 'allow', timeoutMs: 1_000 })
  const { id: keyId } = await operator.apps.createKey({ appId })
  for (const name of columns) {
    const [table = '', column = ''] = name.split('.')
    await db`
      update ${db(table)}
      set ${db(column)} = ${timeOf(name)}
      where ${db(table === 'apps' ? 'id' : 'app_id')} = ${appId}`
  }

  const createdAt = timeOf('channels.created_at')
  const lastActivityAt = timeOf('channels.last_activity_at')
  const joined = { joinedAt: timeOf('members.joined_at') }
  const message = {
    createdAt: timeOf('messages.created_at'),
    updatedAt: timeOf('messages.updated_at'),
    editedAt: timeOf('messages.edited_at'),
  }
  expect(await ana.channels.get({ channelId })).toMatchObject({
    ...{ createdAt, updatedAt: timeOf('channels.updated_at') },
    ...{ members: [joined, joined], lastMessage: message },
  })
  expect((await ana.members.list({ channelId })).members).toMatchObject([joined, joined])
  expect(await ana.messages.get(ref)).toMatchObject(message)
  const pinned = { ...message, pinnedAt: timeOf('pins.pinned_at') }
  expect((await ana.pins.list({ channelId })).messages).toMatchObject([pinned])
  const read = { readAt: timeOf('read_marks.read_at') }
  expect((await ana.receipts.get(ref)).readBy).toMatchObject([read])
  const abandoned = (await backend.abandoned.channels()).channels
  expect(abandoned).toMatchObject([{ createdAt, lastActivityAt }])
  const inspected = (await operator.inspect.channels({ appId })).channels
  expect(inspected[0]).toMatchObject({ createdAt, lastActivityAt })
  const active = { lastActiveAt: timeOf('users.last_active_at') }
  expect(await ana.users.get({ userId: 'ben' })).toMatchObject(active)
  expect((await ana.users.list({ ids: ['ben'] })).users).toMatchObject([active])

  const workspace = {
    createdAt: timeOf('workspaces.created_at'),
    updatedAt: timeOf('workspaces.updated_at'),
  }
  expect((await ana.workspaces.list()).workspaces).toMatchObject([workspace])
  expect((await backend.abandoned.workspaces()).workspaces).toMatchObject([workspace])
  const { members } = await ana.workspaces.members({ workspaceId })
  expect(members[0]).toMatchObject({ joinedAt: timeOf('workspace_members.joined_at') })
  const invite = {
    createdAt: timeOf('workspace_invites.created_at'),
    expiresAt: timeOf('workspace_invites.expires_at'),
  }
  expect((await ana.invites.list({ workspaceId })).invites).toMatchObject([invite])

  expect((await backend.webhooks.list()).webhooks).toMatchObject([
    {
      createdAt: timeOf('webhooks.created_at'),
      failingSince: timeOf('webhooks.failing_since'),
    },
  ])
  expect((await backend.webhooks.deliveries({ webhookId })).deliveries).toMatchObject([
    {
      createdAt: timeOf('webhook_deliveries.created_at'),
      nextAttemptAt: timeOf('webhook_deliveries.next_attempt_at'),
    },
  ])
  expect(await backend.hooks.getBeforeSend()).toMatchObject({
    createdAt: timeOf('before_send_hooks.created_at'),
  })
  const key = {
    createdAt: timeOf('api_keys.created_at'),
    lastUsedAt: timeOf('api_keys.last_used_at'),
    expiresAt: timeOf('api_keys.expires_at'),
  }
  const app = await operator.apps.get({ appId })
  expect(app.createdAt).toBe(timeOf('apps.created_at'))
  for (const { keys } of [app, await operator.apps.listKeys({ appId })])
    expect(keys.find(({ id }) => id === keyId)).toMatchObject(key)
})
