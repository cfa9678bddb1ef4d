import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { listed } from '../support/scripted/listed.ts'

const READ = /POST .*\/read$/

test('a read that is answered before its event is not repeated for an own message', async () => {
  const { chat, list, one, count, tell, tellUnread, intercept } = await listed()
  const room = chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  tellUnread('one', 1)
  const left = { lastReadSeq: 1, unreadCount: 0, unreadVersion: one.own.unreadVersion + 1 }
  intercept(READ, () => Response.json({ success: true, ...left }))
  const marked = room.markRead()
  one.send('mine', { by: 'me' })
  await until(room.messages, ({ items }) => items.length === 2)
  await Promise.all([marked, room.markRead()])
  tell('channel.total_unread_changed', { count: 2 })
  await until(chat.unread, ({ total }) => total === 2)
  expect(count(READ)).toBe(1)
  const [channel] = list.getSnapshot().items.filter(({ id }) => id === 'one')
  expect(channel?.lastReadSeq).toBe(1)
})
