import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const READ = /POST .*\/read$/

/** A list of two channels, one of them with three unread messages, and its room. */
async function unreadRoom() {
  const chat = await listed()
  const room = chat.chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  chat.emitUnread('one', 3)
  chat.emit('channel.total_unread_changed', { count: 5 })
  await until(chat.list, ({ totalUnread }) => totalUnread === 5)
  const shown = () => {
    const { items, totalUnread } = chat.list.getSnapshot()
    const { total, byChannel } = chat.chat.unread.getSnapshot()
    const count = items.find(({ id }) => id === 'one')?.unreadCount
    const inRoom = room.info.getSnapshot().channel?.unreadCount
    expect([byChannel.one, total, inRoom]).toEqual([count, totalUnread, count])
    return [count, totalUnread]
  }
  return { ...chat, room, shown }
}

test('a read shows at once in list, room and total, until newer counts arrive', async () => {
  const { room, shown, hold, emit, emitUnread } = await unreadRoom()
  expect(shown()).toEqual([3, 5])
  const held = hold(READ)
  const marked = room.markRead()
  expect(shown()).toEqual([0, 2])
  await held.asked
  held.release()
  await marked
  expect(shown()).toEqual([0, 2])
  // A count from before the read is late.
  emit('channel.unread_changed', { channelId: 'one', count: 3, version: 1 })
  await quiet()
  expect(shown()).toEqual([0, 2])
  // One more came meanwhile.
  emitUnread('one', 1)
  emit('channel.total_unread_changed', { count: 3 })
  await quiet()
  expect(shown()).toEqual([1, 3])
})

test('a count that arrives while a read is on its way is not shown', async () => {
  const { room, shown, hold, emit } = await unreadRoom()
  const held = hold(READ)
  const marked = [room.markRead(), room.markRead()]
  await held.asked
  emit('channel.unread_changed', { channelId: 'one', count: 4, version: 1 })
  emit('channel.total_unread_changed', { count: 6 })
  await quiet()
  expect(shown()).toEqual([0, 2])
  held.release()
  await marked[0]
  expect(shown()).toEqual([0, 2])
  await Promise.all(marked)
  expect(shown()).toEqual([0, 2])
})

test('a refused read is taken back, and one in an outage is shown until it is sent', async () => {
  const { chat, room, shown, refuseRequests, cut, mend, data } = await unreadRoom()
  const clock = stoppedClock()
  refuseRequests(READ, { status: 403, code: 'FORBIDDEN' })
  const marked = room.markRead()
  expect(shown()).toEqual([0, 2])
  await expect(marked).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(shown()).toEqual([3, 5])
  refuseRequests()
  data.total = 5
  cut()
  await isOffline(chat)
  const waiting = room.markRead()
  expect(shown()).toEqual([0, 2])
  await clock.forward(60_000)
  expect(shown()).toEqual([0, 2])
  mend()
  chat.wake()
  await clock.forward(60_000)
  await isLive(chat)
  await waiting
  expect(shown()[0]).toBe(0)
})

test('a read that a server of an earlier version answers leaves numbers', async () => {
  const { room, shown, intercept, emit, emitUnread } = await unreadRoom()
  intercept(READ, () => Response.json({ success: true, lastReadSeq: 1 }))
  await room.markRead()
  expect(shown()).toEqual([3, 5])
  // The counts that are left come in events.
  emitUnread('one', 0)
  emit('channel.total_unread_changed', { count: 2 })
  await quiet()
  expect(shown()).toEqual([0, 2])
})

test('a read between two connections shows what is left once there is one', async () => {
  const { chat, room, shown, cut, network, one, data } = await unreadRoom()
  network.refusesTokens = true
  cut({ isCut: false })
  await isOffline(chat)
  await room.markRead()
  expect(shown()).toEqual([0, 2])
  // The event of the read is lost, and another message comes.
  one.own.unreadCount = 1
  data.total = 3
  network.refusesTokens = false
  await isLive(chat)
  await until(chat.unread, ({ total }) => total === 3)
  expect(shown()).toEqual([1, 3])
})

test('reading makes no call where nothing is unread, and one where anything may be', async () => {
  const { chat, one, room, count, emit, emitUnread, shown } = await unreadRoom()
  await room.markRead()
  emitUnread('one', 0)
  emit('channel.total_unread_changed', { count: 0 })
  await until(chat.unread, ({ total }) => total === 0)
  expect([shown(), count(READ)]).toEqual([[0, 0], 1])
  await room.markRead()
  one.send('mine', { by: 'me' })
  await until(room.messages, ({ items }) => items.length === 2)
  await room.markRead()
  expect(count(READ)).toBe(1)
  one.send('not mine')
  await until(room.messages, ({ items }) => items.length === 3)
  await room.markRead()
  expect(count(READ)).toBe(2)
  emitUnread('one', 1)
  await until(chat.unread, ({ byChannel }) => byChannel.one === 1)
  await room.markRead()
  expect(count(READ)).toBe(3)
})

test('a minute of talk costs a watcher at most one call for each message of another', async () => {
  const clock = stoppedClock()
  const people = ['ana', 'ben', 'cem', 'dora']
  const { chat, channel, requests, data } = scriptedChat()
  const talk = channel('c', ['me', ...people])
  await chat.connect()
  const room = chat.channel('c')
  const list = chat.channels()
  for (const store of [list, room.members, room.reads, room.typing]) store.subscribe(() => {})
  room.messages.subscribe(() => void room.markRead().catch(() => {}))
  await clock.forward(1)
  await until(room.messages, ready)
  await clock.forward(1_000)
  requests.length = 0
  for (let second = 0; second < 60; second++) {
    const by = people[second % people.length] ?? ''
    talk.type(by)
    await clock.forward(300)
    talk.send(`${second}`, { by })
    talk.own.unreadCount += 1
    data.total += 1
    await clock.forward(700)
  }
  await clock.forward(5_000)
  expect(requests.length).toBeLessThanOrEqual(60)
  expect(new Set(requests)).toEqual(new Set(['POST /api/channels/c/read']))
  expect(talk.reads.get('me')).toBe(60)
})

/** Messages that were imported: their ids do not grow. */
const IMPORTED = [
  '0c4f6a3e-93a1-5b0e-8f53-2f1f0f0a6c11',
  'f7d2c1b0-1de4-5c6a-9e07-b5c0d8e4a922',
  '3a9b8c7d-52f6-5d41-a3b8-64e1f7c2d033',
] as const

test.each([[[0, 1, 2]], [[0, 2, 1]], [[2, 0, 1]]])(
  'the newest of reads of imported messages counts in the order %j, also offline',
  async (order) => {
    const clock = stoppedClock()
    const { chat, channel, bodies, hold, count } = scriptedChat()
    const talk = channel('c')
    for (const as of IMPORTED) talk.send('imported', { as })
    await chat.connect()
    const room = chat.channel('c')
    room.watch()
    await clock.forward(1)
    await until(room.messages, ready)
    const held = hold(READ)
    const marked = [room.markRead(IMPORTED[0])]
    await held.asked
    marked.push(...order.map((index) => room.markRead(IMPORTED[index])))
    held.release()
    await clock.forward(500)
    await Promise.all(marked)
    const sent = () => [count(READ), bodies.get('POST /api/channels/c/read')]
    expect(sent()).toEqual([2, { messageId: IMPORTED[2] }])
    chat.disconnect()
    const waiting = order.map((index) => room.markRead(IMPORTED[index]))
    await chat.connect()
    await clock.forward(1)
    await Promise.all(waiting)
    expect(sent()).toEqual([3, { messageId: IMPORTED[2] }])
  },
)

test('the later of two reads counts if the message of one is not loaded', async () => {
  const { chat, channel, bodies } = scriptedChat()
  channel('c').send('1')
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  chat.disconnect()
  for (const ids of [
    ['c-0001', 'unknown'],
    ['unknown', 'c-0001'],
  ]) {
    const waiting = ids.map((id) => room.markRead(id))
    await chat.connect()
    await Promise.all(waiting)
    expect(bodies.get('POST /api/channels/c/read')).toEqual({ messageId: ids[1] })
    chat.disconnect()
  }
})

test('after a backup was restored, values known before do not count as newer', async () => {
  const { chat, channel, list, emitSettings, emitUnread, ...server } = await unreadRoom()
  const { data, cut, mend, loseEvents } = server
  emitSettings('one', { starred: true, muted: true })
  emitUnread('one', 4)
  await until(list, ({ items }) => items.some(({ unreadCount }) => unreadCount === 4))
  cut()
  await isOffline(chat)
  channel('one').own.unreadCount = 2
  data.settingsVersion = 0
  loseEvents()
  mend()
  await isLive(chat)
  const { items } = await until(list, ready)
  const one = items.find(({ id }) => id === 'one')
  expect(one).toMatchObject({ unreadCount: 2, starred: false, muted: false })
})
