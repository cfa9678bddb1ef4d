import { randomUUID } from 'node:crypto'
import { channelSignals, limits, topics, userSignals } from '@parley/contract'
import { createPostgresBroker } from '@parley/server/realtime/postgres-broker'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { insertCrowd } from '../support/inserted.ts'
import { centrifugeOf, type Ear, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { createWorld, type User, useWorld } from '../support/world.ts'

const world = useWorld({ presenceGraceSeconds: 0, timings: { typingMs: 300, deadAfterMs: 1_500, beatMs: 300, reconcileMs: 300 } })
const chat = (channelId: string) => topics.channel(world().appId, channelId)
const own = (user: Pick<User, 'id'>) => topics.user(world().appId, user.id)

const clients: { disconnect(): void }[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect()
})
const client = (user: User, at: { url: string } = world()) => {
  const connected = centrifugeOf(at, user)
  clients.push(connected)
  return connected
}
const ear = (user: User, topic: string, at?: { url: string }) => listen(client(user, at), topic)

let casts = 0
const cast = () => world().users(`ana${++casts}`, `ben${casts}`)
const group = async (owner: User, ...members: User[]) =>
  (await owner.channels.create({ type: 'group', name: 'Talk', memberIds: members.map(({ id }) => id) })).id

/** What was heard of a type, each payload held against the contract. */
const payloads = (heard: Ear, type: keyof typeof userSignals | keyof typeof channelSignals) =>
  heard.heard.flatMap(({ envelope, offset }) => {
    if (envelope.type !== type) return []
    expect(offset).toBeUndefined()
    return [{ ...userSignals, ...channelSignals }[type].strict().parse(envelope.payload)]
  })

/** The counts that were heard since then, oldest first. */
const counts = ({ heard }: Ear, type: 'channel.unread_changed' | 'channel.total_unread_changed', since = 0) =>
  heard.slice(since).flatMap(({ envelope }) => (envelope.type === type && 'count' in envelope.payload ? [envelope.payload.count] : []))

describe('reading', () => {
  test('a read tells the channel the position and the reader his counts, also when nothing changes', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana, ben)
    const message = await ana.messages.send({ channelId, text: 'hi' })
    const [channel, user] = [await ear(ana, chat(channelId)), await ear(ben, own(ben))]
    await ben.reads.mark({ channelId })
    await ben.reads.mark({ channelId })
    await channel.untilType('read.updated', 2)
    const [first, second] = payloads(channel, 'read.updated')
    expect(first).toEqual({ channelId, userId: ben.id, lastReadSeq: 1, lastReadMessageId: message.id, readAt: expect.any(String) })
    expect(second).toEqual(first)
    await user.untilType('channel.total_unread_changed', 2)
    expect(payloads(user, 'channel.unread_changed')).toEqual([
      { channelId, count: 0 },
      { channelId, count: 0 },
    ])
    expect(payloads(user, 'channel.total_unread_changed')).toEqual([{ count: 0 }, { count: 0 }])
  })

  test('a receipt tells the channel who has read which message and how far, and the reader his counts, every time', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana, ben)
    const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
    for (const text of ['b', 'c']) await ana.messages.send({ channelId, text })
    const [channel, user] = [await ear(ana, chat(channelId)), await ear(ben, own(ben))]
    for (let time = 0; time < 2; time++) await ben.receipts.mark({ channelId, messageId })
    await channel.untilType('read_receipt', 2)
    const receipt = { channelId, messageId, userId: ben.id, name: ben.id, image: null, readAt: expect.any(String) }
    expect(payloads(channel, 'read_receipt')).toEqual([receipt, receipt])
    const position = { channelId, userId: ben.id, lastReadSeq: 1, lastReadMessageId: messageId, readAt: expect.any(String) }
    expect(payloads(channel, 'read.updated')).toEqual([position, position])
    await user.untilType('channel.total_unread_changed', 2)
    expect(payloads(user, 'channel.unread_changed').at(-1)).toEqual({ channelId, count: 2 })
    expect(payloads(user, 'channel.total_unread_changed').at(-1)).toEqual({ count: 2 })
  })

  test('in a crowd only the reader hears of his reading, and nobody of typing', async () => {
    const [ana, ben] = await cast()
    const { id: channelId } = await ana.channels.create({ type: 'livestream', name: `Show ${casts}` })
    const crowd = await insertCrowd(world(), `crowd${casts}-`, limits.crowd)
    await ana.members.add({ channelId, userIds: [ben.id, ...crowd] })
    const [anas, bens, bensOwn] = [await ear(ana, chat(channelId)), await ear(ben, chat(channelId)), await ear(ben, own(ben))]
    await ben.typing.set({ channelId })
    await ben.reads.mark({ channelId })
    await bensOwn.untilType('channel.total_unread_changed')
    await ana.messages.send({ channelId, text: 'after' })
    await Promise.all([anas.untilType('message.new'), bens.untilType('message.new')])
    expect([anas.types, bens.types]).toEqual([['message.new'], ['read.updated', 'message.new']])
  })
})

describe('unread counts', () => {
  test('connected members are told, absolute; the sender is not', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana, ben)
    const [anas, bens] = [await ear(ana, own(ana)), await ear(ben, own(ben))]
    for (const text of ['a', 'b', 'c']) await ana.messages.send({ channelId, text })
    await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(3))
    expect(payloads(bens, 'channel.unread_changed').at(-1)).toEqual({ channelId, count: 3 })
    expect(payloads(anas, 'channel.unread_changed')).toEqual([])
  })

  test('a deletion and the leaving of a channel take back what they counted', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana, ben)
    const bens = await ear(ben, own(ben))
    const total = (count: number) => bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
    const message = await ana.messages.send({ channelId, text: 'a' })
    await ana.messages.send({ channelId, text: 'b' })
    await total(2)
    await ana.messages.delete({ channelId, messageId: message.id })
    await total(1)
    await ana.members.remove({ channelId, userId: ben.id })
    await total(0)
    expect((await ben.reads.unreadCount()).count).toBe(0)
  })
})

test('a total that was read before a message came, and is told after it, is put right', async () => {
  const [ana, ben] = await cast()
  const channelId = await group(ana, ben)
  const bens = await ear(ben, own(ben))
  await ana.messages.send({ channelId, text: 'hi' })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(1))
  // What a slow node has to say of a read of before.
  const late = createPostgresBroker({ url: world().databaseUrl, nodeId: randomUUID(), report: (error) => console.error(error) })
  onTestFinished(() => late.stop())
  late.send({ kind: 'event', topic: own(ben), envelope: JSON.stringify({ type: 'channel.total_unread_changed', payload: { count: 0 } }) })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(0))
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 1)
})

test('counts that the database could not tell are told once it can', async () => {
  const [ana, ben] = await cast()
  const channelId = await group(ana, ben)
  const bens = await ear(ben, own(ben))
  const total = (count: number) => bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
  await ana.messages.send({ channelId, text: 'a' })
  await total(1)
  const { db } = world()
  await db.begin(async (tx) => {
    await tx`lock table connections in access exclusive mode`
    await ana.messages.send({ channelId, text: 'b' })
    const counting = db`pid <> pg_backend_pid() and wait_event_type = 'Lock' and query like '%join connections k on k.node_id%'`
    await until(async () => (await db`select pg_terminate_backend(pid) from pg_stat_activity where ${counting}`).length > 0)
  })
  await total(2)
})

test('who leaves a channel or loses it hears his new total, though he was told no count before', async () => {
  const [ana, ben] = await cast()
  const [left, deleted, kept] = [await group(ana, ben), await group(ana, ben), await group(ana, ben)]
  for (const channelId of [left, deleted, kept]) await ana.messages.send({ channelId, text: 'a' })
  const bens = await ear(ben, own(ben))
  const total = (count: number) => bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
  await ben.members.leave({ channelId: left })
  await total(2)
  await ana.channels.delete({ channelId: deleted })
  await total(1)
})

test('who leaves a channel and is back at once hears as many unread as were said since, though they are as many as before', async () => {
  const [ana, ben] = await cast()
  const channelId = await group(ana, ben)
  const bens = await ear(ben, own(ben))
  for (let time = 0; time < 5; time++) {
    const before = bens.heard.length
    await ana.messages.send({ channelId, text: 'before' })
    await bens.until(() => counts(bens, 'channel.total_unread_changed', before).includes(1))
    await ben.members.leave({ channelId })
    await ana.members.add({ channelId, userIds: [ben.id] })
    await ana.messages.send({ channelId, text: 'after' })
    const shown = (heard: Ear['heard']) => heard.findIndex(({ envelope }, place) => place >= before && envelope.type === 'channel.added')
    await bens.until((heard) => shown(heard) >= 0 && counts(bens, 'channel.unread_changed', shown(heard)).includes(1))
    await ben.reads.mark({ channelId })
    await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 0)
  }
})

describe('typing', () => {
  test('it stops by itself, once, also when it was told several times; a stop of nothing is no news', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana, ben)
    // Long enough for a busy machine to be told twice within it.
    const node = await createWorld({ timings: { typingMs: 3_000 }, databaseUrl: world().databaseUrl })
    onTestFinished(node.stop)
    const anas = await ear(ana, chat(channelId), node)
    const { typing } = node.api({ token: ben.token })
    await typing.set({ channelId, typing: false })
    await typing.set({ channelId })
    await typing.set({ channelId })
    await anas.untilType('typing.stop')
    await ana.messages.send({ channelId, text: 'done' })
    await anas.untilType('message.new')
    expect(anas.types).toEqual(['typing.start', 'typing.start', 'typing.stop', 'message.new'])
    expect(payloads(anas, 'typing.stop')).toEqual([{ channelId, userId: ben.id, user: { id: ben.id, name: ben.id, image: null } }])
  })

  test('it can be ended, on another node too', async () => {
    const [ana, ben] = await cast()
    const other = await createWorld({ timings: { typingMs: 60_000 }, databaseUrl: world().databaseUrl })
    const channelId = await group(ana, ben)
    const [here, there] = [await ear(ana, chat(channelId)), await ear(ana, chat(channelId), other)]
    const elsewhere = other.api({ token: ben.token })
    await elsewhere.typing.set({ channelId })
    await Promise.all([here, there].map((each) => each.untilType('typing.start')))
    await ben.typing.set({ channelId, typing: false })
    await Promise.all([here, there].map((each) => each.untilType('typing.stop')))
    await other.stop()
  })

  test('it is for members', async () => {
    const [ana, ben] = await cast()
    const channelId = await group(ana)
    await expect(ben.typing.set({ channelId })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('presence', () => {
  const state = (heard: Ear, userId: string) =>
    heard.heard.flatMap(({ envelope }) =>
      (envelope.type === 'presence.online' || envelope.type === 'presence.offline') && envelope.payload.userId === userId ? [envelope.type] : [],
    )

  test('who shares a channel hears when a user comes with his first socket, and goes with his last', async () => {
    const [ana, ben] = await cast()
    await group(ana, ben)
    const anas = await ear(ana, own(ana))
    const [first, second] = [client(ben), client(ben)]
    await Promise.all([first.ready(), second.ready()])
    await anas.until(() => state(anas, ben.id).length === 1)
    first.disconnect()
    second.disconnect()
    await anas.untilType('presence.offline')
    expect(state(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
    expect(payloads(anas, 'presence.offline')[0]).toEqual({ userId: ben.id, lastActiveAt: expect.any(String) })
  })

  test('a user on two nodes is there until he has left both', async () => {
    const [ana, ben] = await cast()
    const other = await createWorld({ presenceGraceSeconds: 0, databaseUrl: world().databaseUrl })
    await group(ana, ben)
    const anas = await ear(ana, own(ana))
    const [here, there] = [client(ben), client(ben, other)]
    await Promise.all([here.ready(), there.ready()])
    here.disconnect()
    await there.presence(own(ben)).catch(() => {})
    there.disconnect()
    await anas.untilType('presence.offline')
    expect(state(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
    await other.stop()
  })

  test('the users of a node that no longer beats are offline', async () => {
    const [ana, ben] = await cast()
    await group(ana, ben)
    const anas = await ear(ana, own(ana))
    await world().db`insert into nodes (id) values ('dead')`
    await world().db`insert into connections (node_id, app_id, user_id) values ('dead', ${world().appId}, ${ben.id})`
    await anas.until(() => state(anas, ben.id).includes('presence.offline'))
  })
})

test('a new name is told to those who share a channel', async () => {
  const [ana, ben] = await cast()
  await group(ana, ben)
  const anas = await ear(ana, own(ana))
  await world().user(ben.id, { name: 'Benedict' })
  await anas.untilType('user.updated')
  expect(payloads(anas, 'user.updated')).toEqual([{ user: { id: ben.id, name: 'Benedict', image: null } }])
})

test('members hear of a changed and a deleted channel in their own topic, on every node', async () => {
  const [ana, ben] = await cast()
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  const channelId = await group(ana, ben)
  const [here, there] = [await ear(ben, own(ben)), await ear(ben, own(ben), other)]
  await ana.channels.update({ channelId, name: 'New name' })
  for (const each of [here, there]) await each.untilType('channel.updated')
  await ana.channels.delete({ channelId })
  for (const each of [here, there]) {
    await each.untilType('channel.deleted')
    expect(payloads(each, 'channel.updated')).toEqual([{ channelId, channel: expect.objectContaining({ name: 'New name' }) }])
  }
  await other.stop()
})

test('members hear of each of many deleted channels, however soon its members are forgotten', async () => {
  const [ana, ben] = await cast()
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  const channelIds = await Promise.all(Array.from({ length: 30 }, () => group(ana, ben)))
  const ears = [await ear(ben, own(ben)), await ear(ben, own(ben), other)]
  await Promise.all(channelIds.map((channelId) => ana.channels.delete({ channelId })))
  for (const each of ears) {
    await each.untilType('channel.deleted', channelIds.length)
    const told = each.heard.flatMap(({ envelope }) => (envelope.type === 'channel.deleted' ? [envelope.payload.channelId] : []))
    expect(told.sort()).toEqual([...channelIds].sort())
  }
  await other.stop()
})
