import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'

const READ = /POST .*\/read$/

/** A list of two channels, one of them with three unread messages, and its room. */
async function unreadRoom() {
  const chat = await listed()
  const room = chat.chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  chat.one.own.unreadCount = 3
  chat.tell('channel.unread_changed', { channelId: 'one', count: 3 })
  chat.tell('channel.total_unread_changed', { count: 5 })
  await until(chat.list, ({ totalUnread }) => totalUnread === 5)
  const shown = () => {
    const { items, totalUnread } = chat.list.getSnapshot()
    const { total, byChannel } = chat.chat.unread.getSnapshot()
    const count = items.find(({ id }) => id === 'one')?.unreadCount
    expect([byChannel.one, total]).toEqual([count, totalUnread])
    return [count, totalUnread]
  }
  return { ...chat, room, shown }
}

test('reading shows at once in list and total, until the server says what is left', async () => {
  const { room, shown, hold, tell } = await unreadRoom()
  expect(shown()).toEqual([3, 5])
  const held = hold(READ)
  const marked = room.markRead()
  expect(shown()).toEqual([0, 2])
  await held.asked
  held.release()
  await marked
  expect(shown()).toEqual([0, 2])
  // One more came meanwhile.
  tell('channel.unread_changed', { channelId: 'one', count: 1 })
  tell('channel.total_unread_changed', { count: 3 })
  await quiet()
  expect(shown()).toEqual([1, 3])
})

test('a refused read is taken back, and one that an outage swallows is not kept', async () => {
  const { chat, room, shown, refuseRequests, cut, mend, data } = await unreadRoom()
  refuseRequests(READ, { status: 403, code: 'FORBIDDEN' })
  const marked = room.markRead()
  expect(shown()).toEqual([0, 2])
  await expect(marked).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(shown()).toEqual([3, 5])
  refuseRequests()
  await room.markRead()
  expect(shown()).toEqual([0, 2])
  data.total = 5
  cut()
  await isOffline(chat)
  mend()
  await isLive(chat)
  expect(shown()).toEqual([3, 5])
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
  const { chat, one, room, count, tell, shown } = await unreadRoom()
  await room.markRead()
  tell('channel.unread_changed', { channelId: 'one', count: 0 })
  tell('channel.total_unread_changed', { count: 0 })
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
  tell('channel.unread_changed', { channelId: 'one', count: 1 })
  await until(chat.unread, ({ byChannel }) => byChannel.one === 1)
  await room.markRead()
  expect(count(READ)).toBe(3)
})
