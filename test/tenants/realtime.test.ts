import { topics } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { createEventLog } from '@parley/server/realtime/event-log'
import { expect, test } from 'vitest'
import { RawSocket, useSockets } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { type User, useWorld } from '../support/world.ts'
import { createTenants, type Tenant } from './fixture.ts'

const world = useWorld({ presenceGraceSeconds: 0, timings: { typingMs: 60_000 } })
const terminatedLater = useSockets()

const topicsOf = ({ appId, channelId }: Tenant, { id }: User) => [
  topics.user(appId, id),
  topics.channel(appId, channelId),
]
/** A socket of a user that is subscribed to their own topic and to the group. */
async function listen(tenant: Tenant, user: User) {
  const raw = await terminatedLater(RawSocket.connect(world(), user))
  for (const [index, channel] of topicsOf(tenant, user).entries())
    expect((await raw.ask({ id: 10 + index, subscribe: { channel } })).subscribe).toBeDefined()
  return raw
}
/** The offset at which a new subscription to the user's own topic begins. */
async function positionOf({ appId }: Tenant, user: User) {
  const raw = await terminatedLater(RawSocket.connect(world(), user))
  const { subscribe } = await raw.ask({
    id: 10,
    subscribe: { channel: topics.user(appId, user.id), recover: true },
  })
  return subscribe.offset ?? 0
}
async function lastOffsetOf({ appId }: Tenant, { id }: User) {
  const [row] = await world().db<{ lastOffset: number }[]>`
    select last_offset as "lastOffset"
    from user_streams
    where app_id = ${appId} and user_id = ${id}`
  return row?.lastOffset ?? 0
}
const eventsOf = ({ messages }: RawSocket) =>
  messages.flatMap(({ push }) => (push?.pub ? [push.pub.data] : []))
const receives = (raw: RawSocket, type: string) =>
  raw.pushed((push) => push.pub?.data.type === type)
const presenceOf = (raw: RawSocket, { id }: User) =>
  eventsOf(raw).flatMap(({ type, payload }) =>
    type.startsWith('presence.') && payload.userId === id ? [type] : [],
  )
/** Whether a socket is open, after a round trip. */
const isOpen = async (raw: RawSocket, channel: string) =>
  (await raw.ask({ id: 99, presence: { channel } })).id === 99
const isOnline = async ({ backend }: Tenant, { id }: User) =>
  (await backend.users.get({ userId: id })).online

test('revoking the tokens of a user closes no socket of a namesake in another app', async () => {
  const [ours, theirs] = await createTenants(world())
  const [our, their] = [await listen(ours, ours.ana), await listen(theirs, theirs.ana)]
  await theirs.ana.channels.list()
  await ours.backend.tokens.revoke({ userId: ours.ana.id })
  await our.closed
  expect(await isOpen(their, topics.channel(theirs.appId, theirs.channelId))).toBe(true)
  await expect(ours.ana.channels.list()).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
  expect((await theirs.ana.channels.list()).channels).toHaveLength(1)
  await listen(ours, await world().user(ours.ana.id, {}, ours.backend))
  await listen(theirs, theirs.ana)
})

test('the presence of a user is not that of a namesake in another app', async () => {
  const [ours, theirs] = await createTenants(world())
  const [ourBen, theirBen] = [await listen(ours, ours.ben), await listen(theirs, theirs.ben)]
  const our = await listen(ours, ours.ana)
  await receives(ourBen, 'presence.online')
  expect([await isOnline(ours, ours.ana), await isOnline(theirs, theirs.ana)]).toEqual([
    true,
    false,
  ])
  const their = await listen(theirs, theirs.ana)
  await until(() => presenceOf(theirBen, theirs.ana).length > 0)
  our.socket.terminate()
  await receives(ourBen, 'presence.offline')
  expect([await isOnline(ours, ours.ana), await isOnline(theirs, theirs.ana)]).toEqual([
    false,
    true,
  ])
  const [, group = ''] = topicsOf(theirs, theirs.ana)
  const { presence } = await theirBen.ask({ id: 20, presence: { channel: group } })
  expect(Object.keys(presence.presence)).toHaveLength(2)
  expect(presenceOf(theirBen, ours.ana)).toEqual(['presence.online'])
  expect(presenceOf(their, ours.ana)).not.toContain('presence.offline')
  their.socket.terminate()
  await receives(theirBen, 'presence.offline')
  expect(presenceOf(ourBen, ours.ana)).toEqual(['presence.online', 'presence.offline'])
})

test('namesakes in another app receive nothing of what happens in the first', async () => {
  const [ours, theirs] = await createTenants(world())
  const { ana, ben, backend, channelId } = ours
  const [benThere, anaThere] = [await listen(theirs, theirs.ben), await listen(theirs, theirs.ana)]
  await benThere.pushed(({ pub }) => pub?.data.payload.userId === ana.id)
  const [ourAna, ourBen] = [await listen(ours, ana), await listen(ours, ben)]
  const message = await ana.messages.send({ channelId, text: 'hello' })
  await receives(ourBen, 'channel.total_unread_changed')
  await ana.typing.set({ channelId })
  await ben.receipts.mark({ channelId, messageId: message.id })
  await receives(ourAna, 'read_receipt')
  await backend.users.put({ userId: ana.id, name: 'Another' })
  await receives(ourBen, 'user.updated')
  await ana.channels.update({ channelId, name: 'Renamed' })
  await receives(ourBen, 'channel.updated')
  await ana.channels.updateSettings({ channelId, starred: true })
  await receives(ourAna, 'channel.settings_changed')
  const added = await ana.channels.create({ type: 'group', name: 'New', memberIds: [ben.id] })
  await ourBen.pushed(({ pub }) => pub?.data.payload.channel?.id === added.id)
  await ana.members.remove({ channelId, userId: ben.id })
  await receives(ourBen, 'channel.removed')
  await ana.channels.delete({ channelId: added.id })
  await receives(ourBen, 'channel.deleted')

  for (const raw of [anaThere, benThere]) {
    expect(await isOpen(raw, topics.channel(theirs.appId, theirs.channelId))).toBe(true)
    expect(eventsOf(raw).filter(({ type }) => !type.startsWith('presence.'))).toEqual([])
    // Users may receive their own presence before they have subscribed.
    for (const user of [ana, ben]) expect(presenceOf(raw, user).length).toBeLessThanOrEqual(1)
  }
  expect(presenceOf(benThere, ana)).toEqual(['presence.online'])
  const positions = [await positionOf(ours, ana), await positionOf(theirs, theirs.ana)]
  expect(positions).toEqual([await lastOffsetOf(ours, ana), await lastOffsetOf(theirs, theirs.ana)])
})

test('a comparison finds no missed events where only a namesake has newer ones', async () => {
  const [ours, theirs] = await createTenants(world())
  await ours.ana.channels.create({ type: 'group', name: 'Another' })
  const log = createEventLog({
    db: world().pool,
    admit: (_, work) => work(),
    interest: { settled: () => undefined },
    metrics: createMetrics(),
  })
  const offsets = await Promise.all(
    [ours, theirs].map(async (tenant): Promise<[string, number]> => {
      return [topics.user(tenant.appId, tenant.ana.id), await lastOffsetOf(tenant, tenant.ana)]
    }),
  )
  expect([...(await log.findAdvanced(offsets))]).toEqual([])
})

test('unread counts leave out the channels of a namesake in another app', async () => {
  const [ours, theirs] = await createTenants(world())
  const [our, their] = [await listen(ours, ours.ben), await listen(theirs, theirs.ben)]
  const totals = (raw: RawSocket) =>
    eventsOf(raw).flatMap(({ type, payload }) =>
      type === 'channel.total_unread_changed' ? [payload.count] : [],
    )
  for (const text of ['one', 'two', 'three'])
    await theirs.ana.messages.send({ channelId: theirs.channelId, text })
  await until(() => totals(their).at(-1) === 3)
  expect(totals(our)).toEqual([])
  const texts = ['one', 'two', 'three', 'four', 'five']
  for (const text of texts) await ours.ana.messages.send({ channelId: ours.channelId, text })
  await until(() => totals(our).at(-1) === 5)
  await theirs.ben.reads.mark({ channelId: theirs.channelId })
  await until(() => totals(their).at(-1) === 0)
  expect(Math.max(...totals(their))).toBe(3)
  expect(Math.max(...totals(our))).toBe(5)
  expect(totals(our)).not.toContain(0)
  expect(await ours.ben.reads.unreadCount()).toEqual({ count: 5, version: expect.any(Number) })
})

test('a user who stops typing in one app is still typing in another', async () => {
  const [ours, theirs] = await createTenants(world())
  const our = await listen(ours, ours.ben)
  await ours.ana.typing.set({ channelId: ours.channelId })
  await theirs.ana.typing.set({ channelId: theirs.channelId })
  await theirs.ana.typing.set({ channelId: theirs.channelId, typing: false })
  await ours.ana.typing.set({ channelId: ours.channelId, typing: false })
  await receives(our, 'typing.stop')
  expect(eventsOf(our).filter(({ type }) => type.startsWith('typing.'))).toHaveLength(2)
})

test('a user may subscribe to nothing of a namesake in another app', async () => {
  const [ours, theirs] = await createTenants(world())
  const open = await ours.ana.channels.create({ type: 'public', name: 'Open' })
  const raw = await terminatedLater(RawSocket.connect(world(), theirs.ana))
  // The channels are also tried by the names that their own app would have for them.
  const channels = [ours.appId, theirs.appId].flatMap((appId) =>
    [ours.channelId, open.id].map((id) => topics.channel(appId, id)),
  )
  const foreign = [topics.user(ours.appId, ours.ana.id), ...channels]
  for (const [index, channel] of foreign.entries()) {
    const { error } = await raw.ask({ id: 30 + index, subscribe: { channel } })
    expect(error).toMatchObject({ code: 103 })
  }
  for (const [index, channel] of foreign.entries()) {
    const { error } = await raw.ask({ id: 40 + index, history: { channel, limit: 10 } })
    expect(error).toMatchObject({ code: 103 })
  }
})
