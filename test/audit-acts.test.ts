import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** The app's audit entries, oldest first, without those of jobs, which come at any time. */
const entries = async () => {
  const { operator, appId } = world()
  const found = await operator.audit.listOfApp({ appId })
  return found.entries
    .filter(({ actor }) => actor.type !== 'system')
    .map(({ operation, actor, target }) => ({ operation, actor, target }))
    .reverse()
}
const after = async (count: number) => (await entries()).slice(count)

test('tests, retries and replays of a webhook are noted', async () => {
  const { backend, db } = world()
  const url = 'https://8.8.8.8/hook'
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  const { length } = await entries()
  const { id: deliveryId } = await backend.webhooks.test({ webhookId })
  await db`
    update webhook_deliveries
    set status = 'failed'
    where app_id = ${world().appId}
      and id = ${deliveryId}`
  await backend.webhooks.retry({ webhookId, deliveryId })
  const since = new Date(Date.now() - 60_000).toISOString()
  await backend.webhooks.replay({ webhookId, since })
  await backend.webhooks.retry({ webhookId, deliveryId: '0' }).catch(() => {})
  expect((await after(length)).map(({ operation, target }) => [operation, target])).toEqual([
    ['webhooks.test', { webhookId }],
    ['webhooks.retry', { webhookId, deliveryId }],
    ['webhooks.replay', { webhookId, since }],
  ])
})

test('an invite that is revoked is noted with who did it', async () => {
  const [ana] = await world().users('noted-ana')
  const { id: workspaceId } = await ana.workspaces.create({ type: 'team', name: 'Office' })
  const { id: inviteId } = await ana.invites.create({ workspaceId })
  const { length } = await entries()
  await ana.invites.revoke({ workspaceId, inviteId })
  expect(await after(length)).toEqual([
    {
      operation: 'invites.revoke',
      actor: { type: 'user', userId: ana.id, keyId: null },
      target: { workspaceId, inviteId },
    },
  ])
})

test('an invite that gives a role is noted, and one that gives none is not', async () => {
  const [eva] = await world().users('invites-eva')
  const { id: workspaceId } = await eva.workspaces.create({ type: 'team', name: 'Inviting' })
  const { length } = await entries()
  await eva.invites.create({ workspaceId })
  const { id: inviteId } = await eva.invites.create({ workspaceId, role: 'admin' })
  expect(await after(length)).toEqual([
    {
      operation: 'invites.create',
      actor: { type: 'user', userId: eva.id, keyId: null },
      target: { workspaceId, inviteId, role: 'admin' },
    },
  ])
})

test('a sync of users is audited as a number, if any; a profile if another put it', async () => {
  const { backend } = world()
  const [eve] = await world().users('noted-eve')
  const { length } = await entries()
  await backend.users.sync({ users: [{ id: 'noted-one' }, { id: 'noted-two' }, { id: eve.id }] })
  await eve.users.sync({ users: [] })
  await backend.users.put({ userId: 'noted-one', name: 'By the backend' })
  await eve.users.put({ userId: eve.id, name: 'Own' })
  await eve.users.put({ userId: 'noted-two', name: 'Not her own' })
  const noted = await after(length)
  expect(noted.map(({ operation, target }) => [operation, target])).toEqual([
    ['users.sync', { count: 3, created: 2 }],
    ['users.put', { userId: 'noted-two' }],
  ])
  expect(noted[1]?.actor).toMatchObject({ type: 'user', userId: eve.id })
})

test('the acts of backends and moderators are noted', async () => {
  const { backend } = world()
  const [ana, ben] = await world().users('acts-ana', 'acts-ben')
  const { id: workspaceId } = await ana.workspaces.create({ type: 'team', name: 'Acts' })
  await ben.invites.accept(await ana.invites.create({ workspaceId }))
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Deleted' })
  const { id: leftId } = await ana.channels.create({ type: 'group', name: 'Left' })
  await ana.members.leave({ channelId: leftId })
  const { length } = await entries()
  const url = 'https://8.8.8.8/secret'
  const shown = 'https://8.8.8.8/…'
  const events = ['message.new' as const]
  const { id: webhookId } = await backend.webhooks.create({ url, events })
  await backend.webhooks.update({ webhookId, url, enabled: false })
  await backend.webhooks.update({ webhookId, events: ['*'] })
  await backend.webhooks.rotate({ webhookId })
  await backend.webhooks.delete({ webhookId })
  await backend.hooks.setBeforeSend({ url, onError: 'allow', timeoutMs: 1_000 })
  await backend.hooks.rotateBeforeSend()
  await backend.hooks.deleteBeforeSend()
  for (const user of [ben, ana]) await ana.workspaces.removeMember({ workspaceId, userId: user.id })
  await ana.channels.delete({ channelId })
  await backend.abandoned.deleteChannel({ channelId: leftId })
  await backend.abandoned.deleteWorkspace({ workspaceId })
  await backend.users.bulkDelete({ userIds: [ben.id, 'acts-nobody'] })
  expect((await after(length)).map(({ operation, target }) => [operation, target])).toEqual([
    ['webhooks.create', { webhookId, url: shown, events }],
    ['webhooks.update', { webhookId, url: shown, enabled: false }],
    ['webhooks.update', { webhookId, events: ['*'] }],
    ['webhooks.rotate', { webhookId }],
    ['webhooks.delete', { webhookId }],
    ['hooks.setBeforeSend', { url: shown, onError: 'allow', timeoutMs: 1_000 }],
    ['hooks.rotateBeforeSend', {}],
    ['hooks.deleteBeforeSend', {}],
    ['workspaces.removeMember', { workspaceId, userId: ben.id }],
    ['channels.delete', { channelId }],
    ['abandoned.deleteChannel', { channelId: leftId }],
    ['abandoned.deleteWorkspace', { workspaceId }],
    ['users.bulkDelete', { userIds: [ben.id] }],
  ])
})

test('new members of a channel are noted with who added them and with their role', async () => {
  const ana = await world().user('roles-ana')
  for (const id of ['roles-ben', 'roles-cem', 'roles-dan']) await world().user(id)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Roles' })
  const { length } = await entries()
  await ana.members.add({ channelId, userIds: ['roles-ben'] })
  await ana.members.add({ channelId, userIds: ['roles-ben', 'roles-cem'], role: 'moderator' })
  // They are members already: nothing changes.
  await ana.members.add({ channelId, userIds: ['roles-cem'], role: 'owner' })
  await world().backend.members.add({ channelId, userIds: ['roles-dan'], role: 'owner' })
  const added = (userId: string, role: string) => ({ channelId, userIds: [userId], role })
  expect((await after(length)).map(({ operation, target }) => [operation, target])).toEqual([
    ['members.add', added('roles-ben', 'member')],
    ['members.add', added('roles-cem', 'moderator')],
    ['members.add', added('roles-dan', 'owner')],
  ])
})

test('the acts of the operator on an app and its keys are noted', async () => {
  const { operator } = world()
  const { id: appId, keyId: firstId } = await operator.apps.create({ name: 'Noted' })
  const { id: keyId } = await operator.apps.createKey({ appId, name: 'Reading', scopes: ['read'] })
  await operator.apps.updateKey({ appId, keyId, name: 'Reader' })
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  for (const at of [expiresAt, null]) await operator.apps.updateKey({ appId, keyId, expiresAt: at })
  await operator.apps.updateKey({ appId, keyId, scopes: ['full'] })
  await operator.apps.deleteKey({ appId, keyId })
  await operator.apps.update({ appId, enabled: false })
  const noted = (await operator.audit.listOfApp({ appId })).entries.toReversed()
  const key = { keyId, scopes: ['read'], expiresAt: null }
  expect(noted.map(({ operation, target }) => [operation, target])).toEqual([
    ['apps.create', { name: 'Noted', keyId: firstId }],
    ['apps.createKey', { ...key, name: 'Reading' }],
    ['apps.updateKey', { ...key, name: 'Reader' }],
    ['apps.updateKey', { ...key, name: 'Reader', expiresAt }],
    ['apps.updateKey', { ...key, name: 'Reader' }],
    ['apps.updateKey', { ...key, name: 'Reader', scopes: ['full'] }],
    ['apps.deleteKey', { keyId }],
    ['apps.update', { enabled: false }],
  ])
  expect(noted.every(({ actor }) => actor.type === 'operator')).toBe(true)
  await operator.apps.delete({ appId })
  const { entries: last } = await operator.audit.list({ operation: 'apps.delete', limit: 1 })
  expect(last).toMatchObject([{ appId, actor: { type: 'operator' }, target: { name: 'Noted' } }])
})

test('a change that changes nothing succeeds, and is not in the audit log', async () => {
  const { backend, operator, appId } = world()
  const key = await operator.apps.createKey({ appId, name: 'Same' })
  const webhook = await backend.webhooks.create({
    url: 'https://8.8.8.8/hook',
    events: ['message.new'],
  })
  // No one calls with the key of this app, so that the time of its last use does not change.
  const { id: idleId } = await operator.apps.create({ name: 'Idle' })
  onTestFinished(async () => void (await operator.apps.delete({ appId: idleId })))
  const app = await operator.apps.get({ appId: idleId })
  expect(await operator.apps.update({ appId: idleId })).toEqual(app)
  expect(await operator.apps.update({ appId: idleId, settings: {} })).toEqual(app)
  const ofIdle = await operator.audit.listOfApp({ appId: idleId })
  expect(ofIdle.entries.map(({ operation }) => operation)).toEqual(['apps.create'])
  const { length } = await entries()
  const { id: keyId } = key
  expect(await operator.apps.updateKey({ appId, keyId })).toMatchObject({ name: 'Same' })
  const { id: webhookId } = webhook
  expect(await backend.webhooks.update({ webhookId })).toMatchObject({ id: webhookId })
  expect(await after(length)).toEqual([])
  const nowhere = randomUUID()
  expect(await refusal(operator.apps.update({ appId: nowhere }))).toMatchObject({ status: 404 })
})

test('the audit log of an app is filtered by the actor, and by its kind', async () => {
  const { backend, operator, appId } = world()
  const [ana, ben] = await world().users('filter-ana', 'filter-ben')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  const { token } = await ana.invites.create({ workspaceId, role: 'admin' })
  await ben.invites.accept({ token })
  for (const user of [ana, ben]) {
    const { id: inviteId } = await user.invites.create({ workspaceId })
    await user.invites.revoke({ workspaceId, inviteId })
  }
  await backend.tokens.revoke({ userId: ana.id })
  const operations = async (filter: { userId?: string; actor?: 'key' | 'user' }) =>
    (await operator.audit.listOfApp({ appId, limit: 3, ...filter })).entries.map(
      ({ operation, actor }) => [operation, actor.userId],
    )
  expect(await operations({ userId: ben.id })).toEqual([['invites.revoke', ben.id]])
  expect(await operations({ userId: ana.id, actor: 'key' })).toEqual([])
  expect((await operations({ actor: 'key' }))[0]).toEqual(['tokens.revoke', null])
  expect((await operations({ actor: 'user' })).slice(0, 2)).toEqual([
    ['invites.revoke', ben.id],
    ['invites.revoke', ana.id],
  ])
})
