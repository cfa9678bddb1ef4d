import { limits } from '@parley/contract'
import { expect, test, vi } from 'vitest'
import { importInto, member, user } from './imports/records.ts'
import { cleanupElsewhere, erased } from './support/cleanup.ts'
import { upTo } from './support/events.ts'
import { notFound, refusal } from './support/refusal.ts'
import { useWorld, type World } from './support/world.ts'

const world = useWorld()

/** The app's audit entries, newest first. */
const entriesOf = async (filter: Parameters<typeof list>[0] = {}) => (await list(filter)).entries
type Filter = Omit<Parameters<World['operator']['audit']['listOfApp']>[0], 'appId'>
const list = (filter: Filter) =>
  world().operator.audit.listOfApp({ appId: world().appId, ...filter })

/** A group of three: `owner`, who moderates, and two others. */
async function newGroup(prefix: string) {
  const [owner, ben, cleo] = await world().users(
    `${prefix}-owner`,
    `${prefix}-ben`,
    `${prefix}-cleo`,
  )
  const { id: channelId } = await owner.channels.create({
    type: 'group',
    name: 'Group',
    memberIds: [ben.id, cleo.id],
  })
  return { owner, ben, cleo, channelId }
}

test('moderation is noted with its user, its target and its request', async () => {
  const { url } = world()
  const { owner, ben, cleo, channelId } = await newGroup('mod')
  await owner.members.update({ channelId, userId: ben.id, role: 'moderator' })
  const response = await fetch(`${url}/api/channels/${channelId}/members/${cleo.id}`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${ben.token}`, 'X-Request-Id': 'request-17' },
  })
  expect(response.status).toBe(200)
  const [removal] = await entriesOf({ operation: 'members.remove' })
  expect(removal).toMatchObject({
    appId: world().appId,
    actor: { type: 'user', userId: ben.id, keyId: null },
    target: { channelId, userId: cleo.id },
    requestId: 'request-17',
  })
  const [promotion] = await entriesOf({ operation: 'members.update' })
  expect(promotion).toMatchObject({
    actor: { userId: owner.id },
    target: { channelId, userId: ben.id, role: 'moderator' },
  })
})

test('the acts of users on their own messages and memberships are not noted', async () => {
  const { ben, channelId } = await newGroup('own')
  const { id: messageId } = await ben.messages.send({ channelId, text: 'Mine' })
  await ben.messages.delete({ channelId, messageId })
  await ben.members.remove({ channelId, userId: ben.id })
  const entries = await entriesOf()
  expect(entries.filter(({ actor }) => actor.userId === ben.id)).toEqual([])
})

test('acts of an API key are noted under its id, and under the user it acts as', async () => {
  const { operator, api, appId } = world()
  const { owner, ben, channelId } = await newGroup('key')
  const { apiKey, id: keyId } = await operator.apps.createKey({ appId, name: 'Moderation' })
  const backend = api({ apiKey })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'Bad' })
  await backend.messages.delete({ channelId, messageId })
  await backend.channels.update({ channelId, frozen: true })
  await api({ apiKey, userId: owner.id }).members.remove({ channelId, userId: ben.id })
  await backend.tokens.revoke({ userId: ben.id })
  const { entries } = await operator.audit.listOfApp({ appId, keyId })
  expect(entries.map(({ operation, actor }) => [operation, actor.type, actor.userId])).toEqual([
    ['tokens.revoke', 'key', null],
    ['members.remove', 'key', owner.id],
    ['channels.update', 'key', null],
    ['messages.delete', 'key', null],
  ])
  expect(entries.at(-1)?.target).toEqual({ channelId, messageId, userId: ben.id })
  const about = await entriesOf({ targetId: ben.id, operation: 'messages.delete' })
  expect(about).toEqual([entries.at(-1)])
  expect(JSON.stringify(entries)).not.toContain('Bad')
})

test('tokens with admin rights and imports are noted, tokens of users are not', async () => {
  const { operator, api, appId, url } = world()
  const { apiKey, id: keyId } = await operator.apps.createKey({ appId, name: 'Minting' })
  const backend = api({ apiKey })
  await backend.tokens.create({ userId: 'minted', name: 'Hidden name' })
  await backend.tokens.create({ userId: 'minted-admin', admin: true })
  await api({ apiKey, userId: 'minted-acting' }).channels.list()
  const report = await importInto({ url, apiKey }, [user('noted-imported'), member('none', 'none')])
  expect(report).toMatchObject({ isFinished: true, refused: 1 })
  const { entries } = await operator.audit.listOfApp({ appId, keyId })
  expect(entries.map(({ operation, target }) => [operation, target])).toEqual([
    ['imports.finished', { runId: expect.any(String), imported: report.imported, refused: 1 }],
    ['imports.run', { runId: expect.any(String) }],
    ['tokens.create', { userId: 'minted-admin', admin: true }],
  ])
  expect(entries.every(({ requestId }) => requestId !== null)).toBe(true)
})

test('the audit log has neither refused acts nor acts that were rolled back', async () => {
  const { ben, cleo, channelId } = await newGroup('refused')
  const before = await entriesOf()
  expect(await refusal(ben.members.remove({ channelId, userId: cleo.id }))).toMatchObject({
    status: 403,
  })
  expect(await refusal(world().backend.users.delete({ userId: 'nobody-here' }))).toEqual(notFound)
  expect(await entriesOf()).toEqual(before)
})

test('the erasure of a user is noted when it is asked for and when nothing is left', async () => {
  await newGroup('gone')
  await world().backend.users.delete({ userId: 'gone-ben' })
  await erased(world())
  await vi.waitFor(async () => {
    const [proof] = await entriesOf({ actor: 'system' })
    expect(proof).toMatchObject({ operation: 'users.erased', target: { userIds: ['gone-ben'] } })
  })
  const [asked] = await entriesOf({ operation: 'users.delete' })
  expect(asked).toMatchObject({ actor: { type: 'key' }, target: { userId: 'gone-ben' } })
})

test('an operator reading a closed channel is audited, reading an open one is not', async () => {
  const { operator, appId } = world()
  const { owner, ben, channelId } = await newGroup('read')
  const { id: openId } = await owner.channels.create({ type: 'public', name: 'Square' })
  for (const n of upTo(3)) await owner.messages.send({ channelId, text: `${n}` })
  await ben.messages.send({ channelId, text: 'from ben' })
  const first = await operator.inspect.messages({ appId, channelId, limit: 2 })
  expect(first.messages.map(({ text }) => text)).toEqual(['from ben', '3'])
  const cursor = first.nextCursor ?? ''
  const second = await operator.inspect.messages({ appId, channelId, limit: 2, cursor })
  expect(second.messages.map(({ text }) => text)).toEqual(['2', '1'])
  expect(second.nextCursor).toBeNull()
  const own = await operator.inspect.messages({ appId, channelId, userId: ben.id })
  expect(own.messages.map(({ text }) => text)).toEqual(['from ben'])
  await operator.inspect.messages({ appId, channelId: openId })
  const read = await entriesOf({ operation: 'inspect.messages' })
  expect(read.map(({ actor, target }) => [actor.type, target])).toEqual([
    ['operator', { channelId, from: 4, to: 4 }],
    ['operator', { channelId, from: 1, to: 2 }],
    ['operator', { channelId, from: 3, to: 4 }],
  ])
})

test('users and channels of an app are found by name, by member and in pages', async () => {
  const { operator, appId } = world()
  const { owner, channelId } = await newGroup('findable')
  const { id: openId } = await owner.channels.create({ type: 'public', name: 'Gardening' })
  const users = await operator.inspect.users({ appId, q: 'FINDABLE', limit: 2 })
  expect(users.users.map(({ id }) => id)).toEqual(['findable-ben', 'findable-cleo'])
  const more = await operator.inspect.users({
    appId,
    q: 'FINDABLE',
    cursor: users.nextCursor ?? '',
  })
  expect(more.users.map(({ id }) => id)).toEqual(['findable-owner'])
  const idsOf = async (query: object) =>
    (await operator.inspect.channels({ appId, ...query })).channels.map(({ id }) => id)
  expect(await idsOf({ q: 'garden' })).toEqual([openId])
  expect(await idsOf({ userId: 'findable-ben' })).toEqual([channelId])
  const page = await operator.inspect.channels({ appId, limit: 1 })
  expect(page.channels.map(({ id }) => id)).toEqual([openId])
  expect((await idsOf({ cursor: page.nextCursor ?? '' }))[0]).toBe(channelId)
})

test('a filter finds what is older than thousands of other entries', async () => {
  const { operator, db } = world()
  const { id: appId } = await operator.apps.create({ name: 'Busy' })
  await db`
    insert into audit (app_id, actor, operation, target)
    select ${appId}, 'key', 'messages.delete', '{}'
    from generate_series(1, ${limits.auditSlice})`
  const first = await operator.audit.listOfApp({ appId, operation: 'apps.create' })
  expect(first.entries).toEqual([])
  const cursor = first.nextCursor ?? ''
  const second = await operator.audit.listOfApp({ appId, operation: 'apps.create', cursor })
  expect(second.entries.map(({ operation }) => operation)).toEqual(['apps.create'])
  expect(second.nextCursor).toBeNull()
  const beginning = await operator.audit.listOfApp({ appId, operation: 'apps.creat', cursor })
  expect(beginning.entries).toEqual([])
})

test('entries cannot be changed or deleted, and old ones are removed by the cleanup', async () => {
  const { db, appId } = world()
  await newGroup('kept')
  await world().backend.tokens.revoke({ userId: 'kept-ben' })
  const refusedBy = /append-only/
  await expect(db`update audit set operation = 'x' where app_id = ${appId}`).rejects.toThrow(
    refusedBy,
  )
  await expect(db`delete from audit where app_id = ${appId}`).rejects.toThrow(refusedBy)
  await expect(db`truncate audit`).rejects.toThrow(refusedBy)
  const count = (await entriesOf()).length
  await db`
    insert into audit (app_id, actor, operation, target, created_at)
    values (${appId}, 'system', 'old', '{}', now() - interval '31 days')`
  await cleanupElsewhere(world(), { auditRetentionDays: 0 }).pass()
  expect(await entriesOf()).toHaveLength(count + 1)
  // The retention looks at the oldest first: entries before it are as old as their numbers.
  await db.begin(async (tx) => {
    await tx`alter table audit disable trigger audit_is_append_only`
    await tx`
      update audit
      set id = -1
      where app_id = ${appId}
        and operation = 'old'`
    await tx`alter table audit enable trigger audit_is_append_only`
  })
  await cleanupElsewhere(world(), { auditRetentionDays: 32 }).pass()
  expect(await entriesOf()).toHaveLength(count + 1)
  await cleanupElsewhere(world(), { auditRetentionDays: 30 }).pass()
  expect((await entriesOf()).map(({ operation }) => operation)).not.toContain('old')
  expect(await entriesOf()).toHaveLength(count)
})

test('the log of all apps is read in pages, newest first, by actor', async () => {
  const { operator, backend } = world()
  const made = []
  for (const n of upTo(3)) made.push((await operator.apps.create({ name: `Paged ${n}` })).id)
  await backend.tokens.create({ userId: 'paged', admin: true })
  const first = await operator.audit.list({ actor: 'operator', limit: 2 })
  expect(first.entries.map(({ appId }) => appId)).toEqual([made[2], made[1]])
  const cursor = first.nextCursor ?? ''
  const second = await operator.audit.list({ actor: 'operator', limit: 1, cursor })
  expect(second.entries.map(({ appId }) => appId)).toEqual([made[0]])
})

test('entries about webhooks have no paths, queries and passwords of their addresses', async () => {
  const { backend, db, appId } = world()
  const [origin, shown] = ['https://8.8.8.8', 'https://8.8.8.8/…']
  const events = ['message.new' as const]
  const url = `${origin}/hidden/path?key=hidden`
  for (const given of [url, `${origin}/?hidden`, `${origin}/`])
    await backend.webhooks.create({ url: given, events })
  const withPassword = 'https://me:hidden@8.8.8.8/other'
  await backend.webhooks.create({ url: withPassword, events }).catch(() => {})
  await backend.hooks.setBeforeSend({ url, onError: 'allow', timeoutMs: 1_000 })
  const entries = await db`
    select target, target ->> 'url' as url
    from audit
    where app_id = ${appId} and target ? 'url'
    order by id`
  expect(entries.map((entry) => entry.url)).toEqual([shown, shown, origin, shown])
  expect(JSON.stringify(entries)).not.toContain('hidden')
})
