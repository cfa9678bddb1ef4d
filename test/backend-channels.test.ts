import { systemUserId } from '@parley/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { forbidden, invalid, notFound, refusals, unauthorized } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})
const backend = () => world().backend
const createPrivate = () =>
  ana.channels.create({ type: 'private', name: 'Talk', memberIds: ['ben'] })

describe('a backend, for itself', () => {
  test('creates a channel without an owner, for its members, once for a client id', async () => {
    const input = {
      type: 'private' as const,
      name: 'Order 7',
      memberIds: ['ana', 'ben'],
      clientId: 'order-7',
      custom: { orderId: 7 },
    }
    const channel = await backend().channels.create(input)
    expect(channel).toMatchObject({
      createdBy: systemUserId,
      role: null,
      rev: 2,
      memberCount: 2,
      custom: { orderId: 7 },
    })
    expect(channel.members?.map(({ userId, role }) => [userId, role])).toEqual([
      ['ana', 'member'],
      ['ben', 'member'],
    ])
    expect((await backend().channels.create(input)).id).toBe(channel.id)
    expect(await ana.channels.get({ channelId: channel.id })).toMatchObject({ role: 'member' })
    const events = await channelEventsOf(world(), channel.id)
    expect(events.map(({ type, payload: { via } }) => [type, via])).toEqual([
      ['channel.member_joined', 'backend'],
      ['channel.member_joined', 'backend'],
    ])
    const direct = { type: 'messaging' as const, memberIds: ['ana'] }
    const unknown = { ...input, clientId: 'other', memberIds: [systemUserId] }
    expect(
      await refusals([backend().channels.create(direct), backend().channels.create(unknown)]),
    ).toEqual([invalid, invalid])
  })

  test('reads, edits and deletes a channel that it is no member of', async () => {
    const { id: channelId } = await createPrivate()
    const { id: messageId } = await ana.messages.send({ channelId, text: 'one' })
    const seen = await backend().channels.get({ channelId })
    expect(seen).toMatchObject({
      name: 'Talk',
      role: null,
      unreadCount: 0,
      lastReadSeq: 0,
      memberCount: 2,
    })
    const { messages } = await backend().messages.list({ channelId })
    expect(messages.map(({ text }) => text)).toEqual(['one'])
    expect((await backend().channels.update({ channelId, name: 'New' })).name).toBe('New')
    await world().user('cleo')
    await backend().members.add({ channelId, userIds: ['cleo'], role: 'owner' })
    await backend().members.remove({ channelId, userId: 'ana' })
    const { members } = await backend().members.list({ channelId })
    expect(members.map(({ userId, role }) => [userId, role])).toEqual([
      ['ben', 'member'],
      ['cleo', 'owner'],
    ])
    await backend().channels.delete({ channelId })
    expect(
      await refusals([
        backend().messages.delete({ channelId, messageId }),
        ben.channels.get({ channelId }),
        backend().channels.get({ channelId }),
      ]),
    ).toEqual([notFound, notFound, notFound])
  })

  test('lists all channels of the app, the newest first, and none of another', async () => {
    const operator = world().operator
    const { apiKey } = await operator.apps.create({ name: 'Lister' })
    const theirs = world().api({ apiKey })
    await theirs.tokens.create({ userId: 'ana' })
    await theirs.tokens.create({ userId: 'ben' })
    const as = world().api({ apiKey, userId: 'ana' })
    const ids: string[] = []
    for (const name of ['a', 'b', 'c'])
      ids.unshift((await as.channels.create({ type: 'private', name })).id)
    ids.unshift((await as.channels.create({ type: 'messaging', memberIds: ['ben'] })).id)
    await as.messages.send({ channelId: ids.at(-1) ?? '', text: 'activity' })
    const first = await theirs.channels.list({ limit: 3 })
    const second = await theirs.channels.list({ limit: 3, offset: 3 })
    expect([first.more, second.more]).toEqual([true, undefined])
    expect([...first.channels, ...second.channels].map(({ id }) => id)).toEqual(ids)
    expect(first.channels[0]?.name).toBe('ana, ben')
    await theirs.users.put({ userId: 'ana', name: 'zoe' })
    expect((await theirs.channels.list({ limit: 1 })).channels[0]?.name).toBe('zoe, ben')
    expect(
      await refusals([
        theirs.channels.list({ type: 'group' }),
        theirs.channels.list({ discover: true }),
        theirs.channels.list({ q: 'a' }),
      ]),
    ).toEqual([invalid, invalid, invalid])
  })

  test('does not change who is in a direct message', async () => {
    const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: ['ben'] })
    await world().user('cleo')
    expect(
      await refusals([
        backend().members.add({ channelId, userIds: ['cleo'] }),
        backend().members.remove({ channelId, userId: 'ben' }),
        backend().channels.update({ channelId, name: 'Ours' }),
        backend().channels.update({ channelId, description: 'Ours' }),
        backend().channels.update({ channelId, image: 'https://example.com/ours.png' }),
      ]),
    ).toEqual(Array(5).fill(forbidden))
  })
})

describe('system messages', () => {
  test('are by the system user, are never unread and take the next seq', async () => {
    const { id: channelId } = await createPrivate()
    await ana.messages.send({ channelId, text: 'one' })
    const sent = await backend().messages.send({ channelId, text: 'ben was invited' })
    expect(sent).toMatchObject({
      type: 'system',
      silent: true,
      seq: 2,
      userId: systemUserId,
      user: { id: systemUserId, name: 'System', image: null },
    })
    expect(await ben.messages.get({ channelId, messageId: sent.id })).toEqual(sent)
    await ana.messages.send({ channelId, text: 'two' })
    expect((await ben.channels.get({ channelId })).unreadCount).toBe(2)
    expect((await ana.channels.get({ channelId })).unreadCount).toBe(0)
    await ben.messages.send({ channelId, text: 'three' })
    expect((await ana.channels.get({ channelId })).unreadCount).toBe(1)
    await backend().messages.delete({ channelId, messageId: sent.id })
    expect((await ben.channels.get({ channelId })).unreadCount).toBe(2)
    expect((await ben.reads.mark({ channelId })).lastReadSeq).toBe(4)
    const [event] = (await channelEventsOf(world(), channelId)).filter(
      ({ payload }) => payload.messageId === sent.id,
    )
    expect(event?.payload).toMatchObject({ via: 'backend' })
  })

  test('are the only ones that a backend may send, and users may not', async () => {
    const { id: channelId } = await createPrivate()
    const text = 'x'
    const server = world().api({ apiKey: world().apiKey, userId: 'ana' })
    expect(
      await refusals([
        backend().messages.send({ channelId, text, type: 'regular' }),
        ana.messages.send({ channelId, text, type: 'system' }),
        server.messages.send({ channelId, text, type: 'system' }),
      ]),
    ).toEqual([forbidden, forbidden, forbidden])
    expect((await ana.messages.send({ channelId, text, type: 'regular' })).type).toBe('regular')
    const first = await backend().messages.send({ channelId, text, clientId: 'once' })
    const again = await backend().messages.send({ channelId, text, clientId: 'once' })
    expect(again).toEqual(first)
    const { messages } = await ana.messages.list({ channelId })
    expect(messages.map(({ type }) => type)).toEqual(['regular', 'system'])
  })

  test('the first of an app can be sent at the same time as messages of users', async () => {
    const { apiKey } = await world().operator.apps.create({ name: 'Fresh' })
    const fresh = world().api({ apiKey })
    const as = world().api({ apiKey, userId: 'zoe' })
    const { id: channelId } = await as.channels.create({ type: 'group', name: 'Talk' })
    const sends = Array.from({ length: 6 }, (_, index) =>
      (index % 2 === 0 ? fresh : as).messages.send({ channelId, text: `${index}` }),
    )
    const sent = await Promise.all(sends)
    expect(sent.map(({ text, type }) => [text, type])).toEqual(
      ['system', 'regular', 'system', 'regular', 'system', 'regular'].map((type, index) => [
        `${index}`,
        type,
      ]),
    )
    expect(sent.map(({ seq }) => seq).sort()).toEqual([1, 2, 3, 4, 5, 6])
    expect((await as.channels.get({ channelId })).unreadCount).toBe(0)
  })

  test('the author of system messages is no user that a backend can change or act as', async () => {
    const userId = systemUserId
    const users = await backend().users.sync({ users: [{ id: userId, name: 'Me' }] })
    expect(users).toMatchObject({ synced: 0, errors: [{ id: userId }] })
    expect(
      await refusals([
        backend().tokens.create({ userId }),
        backend().users.put({ userId, name: 'Me' }),
        backend().users.get({ userId }),
        backend().users.delete({ userId }),
        world().api({ apiKey: world().apiKey, userId }).channels.list(),
      ]),
    ).toEqual([invalid, notFound, notFound, notFound, unauthorized])
  })
})
