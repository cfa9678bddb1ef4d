import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { listed } from '../support/scripted/listed.ts'

const READ = /POST .*\/read$/

/** A list of two channels. The room of one has three unread messages, the other has one. */
async function unreadRooms() {
  const chat = await listed()
  const [room, other] = ['one', 'two'].map((id) => chat.chat.channel(id))
  if (!room || !other) throw new Error('there are two')
  for (const each of [room, other]) {
    each.watch()
    await until(each.messages, ready)
  }
  const unread = ['1', '2', '3'].map((text) => chat.one.send(text).id)
  await until(room.messages, ({ items }) => items.length === 4)
  chat.emitUnread('one', 3)
  chat.emitUnread('two', 1)
  const counts = () => chat.chat.unread.getSnapshot().byChannel
  await until(chat.chat.unread, ({ byChannel }) => byChannel.one === 3 && byChannel.two === 1)
  return { ...chat, room, other, unread, counts }
}

test('a channel that is read in part shows the remaining count, and never zero', async () => {
  const { chat, room, unread, counts, hold, emitUnread } = await unreadRooms()
  const shown: (number | undefined)[] = []
  chat.unread.subscribe(() => shown.push(counts().one))
  const held = hold(READ)
  const marked = room.markRead(unread[0])
  await held.asked
  expect(counts().one).toBe(3)
  held.release()
  await marked
  emitUnread('one', 2)
  await until(chat.unread, ({ byChannel }) => byChannel.one === 2)
  expect(new Set(shown)).toEqual(new Set([2]))
})

test('a channel that is read in part shows the remaining count of the answer', async () => {
  const { chat, room, unread, counts, intercept, one, emit } = await unreadRooms()
  const left = { lastReadSeq: 2, unreadCount: 2, unreadVersion: one.own.unreadVersion + 1 }
  intercept(READ, () => Response.json({ success: true, ...left }))
  emit('channel.total_unread_changed', { count: 4 })
  await until(chat.unread, ({ total }) => total === 4)
  const totals: number[] = []
  chat.unread.subscribe(() => totals.push(chat.unread.getSnapshot().total))
  await room.markRead(unread[0])
  expect([counts().one, totals]).toEqual([2, [3]])
})

test('a read of everything shows at once without a network, and one in part does not', async () => {
  const { chat, room, unread, counts, cut, mend, one } = await unreadRooms()
  cut()
  await isOffline(chat)
  const waiting = [room.markRead(unread[1])]
  expect(counts().one).toBe(3)
  waiting.push(room.markRead())
  expect(counts().one).toBe(0)
  mend()
  chat.wake()
  await isLive(chat)
  await Promise.all(waiting)
  expect(one.reads.get('me')).toBe(4)
  expect(counts().one).toBe(0)
})

test('the end of a read in part does not change another channel that is being read', async () => {
  const { room, other, unread, counts, hold } = await unreadRooms()
  const held = hold(/two\/read$/)
  const marked = other.markRead()
  await held.asked
  for (const id of unread.slice(0, 2)) await room.markRead(id)
  expect(counts().two).toBe(0)
  held.release()
  await marked
  expect(counts().two).toBe(0)
})
