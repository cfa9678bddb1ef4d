import { expect, test, vi } from 'vitest'
import { channel, message, post, user } from './imports/records.ts'
import { cleanupElsewhere } from './support/cleanup.ts'
import { upTo } from './support/events.ts'
import {
  badToken,
  forbidden,
  invalid,
  notFound,
  refusal,
  refusals,
  unauthorized,
} from './support/refusal.ts'
import { RawSocket } from './support/socket.ts'
import { filledTables, tablesOf } from './support/tables.ts'
import { TWIN_APP_ID } from './support/twin/index.ts'
import { patient } from './support/until.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()

const disabled = { status: 403, code: 'APP_DISABLED' }

/** An app of its own with a user who has a group. */
async function newApp(name = 'Shop') {
  const { operator, api, user } = world()
  const app = await operator.apps.create({ name })
  const backend = api({ apiKey: app.apiKey })
  const ana = await user('ana', {}, backend)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Hall' })
  return { ...app, appId: app.id, backend, ana, channelId }
}

test('an app is renamed and configured field by field, and null returns a setting', async () => {
  const { operator } = world()
  const { appId } = await newApp()
  await operator.apps.update({ appId, name: 'New', settings: { messageRetentionDays: 30 } })
  for (const rateLimits of [{ requests: 9 }, { messages: 5 }])
    await operator.apps.update({ appId, settings: { rateLimits } })
  expect(await operator.apps.get({ appId })).toMatchObject({
    name: 'New',
    enabled: true,
    disabledAt: null,
    settings: {
      messageRetentionDays: 30,
      userAdminAccess: null,
      rateLimits: { tokens: null, messages: 5, requests: 9, appends: null, appRequests: null },
    },
  })
  const reset = { messageRetentionDays: null, rateLimits: { messages: null } }
  const { settings } = await operator.apps.update({ appId, settings: reset })
  expect(settings).toMatchObject({ messageRetentionDays: null, rateLimits: { messages: null } })
  for (const messageRetentionDays of [0, 1.5, 36_501])
    expect(
      await refusal(operator.apps.update({ appId, settings: { messageRetentionDays } })),
    ).toEqual(invalid)
})

test('apps are listed in pages by a cursor, whatever is added meanwhile', async () => {
  const { operator } = world()
  const { appId } = await newApp()
  const first = await operator.apps.list({ limit: 1 })
  const late = await newApp()
  const found = []
  for (let cursor = first.nextCursor; cursor !== null; ) {
    const page = await operator.apps.list({ limit: 1, cursor })
    found.push(...page.apps.map(({ id }) => id))
    cursor = page.nextCursor
  }
  expect(found).toContain(appId)
  expect(found.filter((id) => id !== TWIN_APP_ID).at(-1)).toBe(late.appId)
  expect(found).not.toContain(first.apps[0]?.id)
})

test('a disabled app is refused on all nodes, without sockets, until it is enabled', async () => {
  const { operator, databaseUrl } = world()
  // The node learns of it by the note: it does not compare its sockets with the database meanwhile.
  const node = await createWorld({ databaseUrl, timings: { reconcileMs: 600_000 } })
  try {
    const { appId, apiKey, backend, ana, channelId } = await newApp()
    const bystander = await world().user('bystander')
    const there = { key: node.api({ apiKey }), user: node.api({ token: ana.token }) }
    await there.key.users.list()
    await there.user.channels.get({ channelId })
    const sockets = [await RawSocket.connect(world(), ana), await RawSocket.connect(node, ana)]
    const ofBystander = await RawSocket.connect(world(), bystander)
    await operator.apps.update({ appId, enabled: false })
    for (const socket of sockets) expect((await socket.closed).code).toBe(3503)
    expect(ofBystander.socket.readyState).toBe(ofBystander.socket.OPEN)
    const calls = () => [
      backend.users.list(),
      ana.channels.get({ channelId }),
      world().api({ apiKey, userId: 'ana' }).channels.get({ channelId }),
    ]
    expect(await refusals(calls())).toEqual([disabled, disabled, disabled])
    await vi.waitFor(async () => {
      expect(await refusal(there.key.users.list())).toEqual(disabled)
      expect(await refusal(there.user.channels.get({ channelId }))).toEqual(disabled)
    }, patient)
    const late = await RawSocket.open(world())
    late.send({ id: 1, connect: { token: ana.minted.wsToken } })
    expect((await late.closed).code).toBe(3500)
    expect((await bystander.channels.list()).channels).toEqual([])
    expect((await operator.apps.get({ appId })).disabledAt).not.toBeNull()
    await operator.apps.update({ appId, enabled: true })
    await Promise.all(calls())
    await vi.waitFor(() => there.user.channels.get({ channelId }), patient)
    await RawSocket.connect(world(), ana)
  } finally {
    await node.stop()
  }
})

test('an app has limits and a user administration of its own', async () => {
  const { operator } = world()
  const { appId, ana, channelId, backend } = await newApp()
  await backend.users.put({ userId: 'ben' })
  await ana.users.put({ userId: 'ben', name: 'Ben' })
  await operator.apps.update({
    appId,
    settings: { userAdminAccess: 'server', rateLimits: { messages: 2, appends: 1 } },
  })
  expect(await refusal(ana.users.put({ userId: 'ben', name: 'Ben' }))).toEqual(forbidden)
  const { id: messageId } = await ana.messages.send({ channelId, text: '', streaming: true })
  await ana.streams.append({ channelId, messageId, at: 0, text: '1' })
  expect(
    await refusal(ana.streams.append({ channelId, messageId, at: 1, text: '2' })),
  ).toMatchObject({ status: 429 })
  await ana.messages.send({ channelId, text: '2' })
  expect(await refusal(ana.messages.send({ channelId, text: '3' }))).toMatchObject({ status: 429 })
  const other = await world().user('ana')
  const { id } = await other.channels.create({ type: 'group', name: 'Elsewhere' })
  for (const text of ['1', '2', '3']) await other.messages.send({ channelId: id, text })
})

test('a deleted app is gone at once, and a job deletes its rows in every table', async () => {
  const { operator, api, db, cleanup } = world()
  const { appId, apiKey, keyId, ana, channelId, backend } = await newApp()
  const ben = await world().user('ben', {}, backend)
  await ana.members.add({ channelId, userIds: ['ben'] })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'Bye' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.pins.pin({ channelId, messageId })
  await ana.reads.mark({ channelId, messageId })
  await ana.devices.create({ platform: 'ios', provider: 'apns', token: 'secret-push' })
  await ana.preferences.update({ reactions: false })
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Team', type: 'team' })
  await ben.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
  const { id: leftId } = await ben.channels.create({ type: 'public', name: 'Left' })
  const gone = await ben.messages.send({ channelId: leftId, text: 'Gone' })
  await ben.messages.delete({ channelId: leftId, messageId: gone.id })
  await ben.members.leave({ channelId: leftId })
  // This row is of a node that has crashed.
  await db`insert into connections (node_id, app_id, user_id) values ('gone', ${appId}, 'ben')`
  const { id: webhookId } = await backend.webhooks.create({ url: 'https://x.test', events: ['*'] })
  await backend.webhooks.test({ webhookId })
  await backend.hooks.setBeforeSend({ url: 'https://x.test', onError: 'allow' })
  const unfinished = [user('ana'), channel('cut'), message('m1', 'cut')]
  const cut = unfinished.map((record) => JSON.stringify(record)).join('\n')
  await post({ url: world().url, apiKey }, `${cut}\n{`)
  expect(await tablesOf(db, appId)).toEqual(expect.arrayContaining(await filledTables(db)))
  const other = await newApp('Neighbour')
  const socket = await RawSocket.connect(world(), ana)
  const [one, two] = await Promise.allSettled([
    operator.apps.delete({ appId }),
    operator.apps.delete({ appId }),
  ])
  expect([one.status, two.status].sort()).toEqual(['fulfilled', 'rejected'])
  await socket.closed
  expect(await refusal(ana.channels.list())).toEqual(badToken)
  expect(await refusal(api({ apiKey }).users.list())).toEqual(unauthorized)
  expect(await refusal(operator.apps.get({ appId }))).toEqual(notFound)
  const acts = [
    operator.apps.update({ appId, enabled: true }),
    operator.apps.updateKey({ appId, keyId, name: 'Late' }),
    operator.apps.deleteKey({ appId, keyId }),
    operator.apps.listKeys({ appId }),
    operator.apps.usage({ appId }),
    operator.jobs.list({ appId }),
    operator.inspect.channels({ appId }),
  ]
  expect(await refusals(acts)).toEqual(acts.map(() => notFound))
  const before = await tablesOf(db, other.appId)
  await vi.waitFor(async () => {
    await cleanup.run()
    expect(await tablesOf(db, appId)).toEqual([])
  }, patient)
  expect(before).toEqual(expect.arrayContaining(['apps', 'events', 'channels', 'users']))
  expect(await tablesOf(db, other.appId)).toEqual(before)
  await other.ana.messages.send({ channelId: other.channelId, text: 'Still here' })
  const { entries } = await operator.audit.listOfApp({ appId })
  expect(entries.map(({ operation }) => operation)).toEqual([
    'apps.purged',
    'apps.delete',
    'apps.create',
  ])
})

test('old messages become tombstones, and counts, pins and threads follow', async () => {
  const { operator, db } = world()
  const { appId, ana, channelId, backend } = await newApp()
  const ben = await world().user('ben', {}, backend)
  await ana.members.add({ channelId, userIds: ['ben'] })
  const old: { id: string }[] = []
  for (const n of upTo(3)) old.push(await ana.messages.send({ channelId, text: `old ${n}` }))
  const [root] = old
  if (!root) throw new Error('nothing was sent')
  await ben.pins.pin({ channelId, messageId: root.id })
  const fresh = await ana.messages.send({ channelId, text: 'fresh' })
  const reply = await ana.messages.send({ channelId, text: 'reply', parentId: root.id })
  const setAge = (days: number) => db`
    update messages
    set created_at = now() - ${days} * interval '1 day'
    where app_id = ${appId}
      and id = any(${old.map(({ id }) => id)}::uuid[])`
  await setAge(8)
  const pass = () => cleanupElsewhere(world(), {}).pass()
  await pass()
  expect((await ben.messages.list({ channelId })).messages).toHaveLength(5)
  // The age comes before the setting, by which a running pass would delete those of eight days.
  await setAge(6)
  await operator.apps.update({ appId, settings: { messageRetentionDays: 7 } })
  await pass()
  expect((await ben.messages.list({ channelId })).messages).toHaveLength(5)
  await setAge(8)
  await pass()
  const { messages } = await ben.messages.list({ channelId })
  expect(messages.map(({ id }) => id)).toEqual([fresh.id, reply.id])
  expect((await ben.channels.get({ channelId })).unreadCount).toBe(2)
  expect((await ben.pins.list({ channelId })).messages).toEqual([])
  const [stored] = await db<{ text: string; replyCount: number; deleted: boolean }[]>`
    select text, reply_count, deleted_at is not null as deleted
    from messages
    where app_id = ${appId}
      and id = ${root.id}`
  expect(stored).toEqual({ text: '', replyCount: 1, deleted: true })
})
