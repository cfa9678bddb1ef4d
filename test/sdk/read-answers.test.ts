import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'

const SYNC = /POST .*\/sync$/
const READ = /POST .*\/read$/
const ID = '01234567-89ab-7cde-8f01-23456789abcd'

test('a read that is answered before its event is not repeated for an own message', async () => {
  const { chat, list, one, count, emit, emitUnread, intercept } = await listed()
  const room = chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  emitUnread('one', 1)
  const left = { lastReadSeq: 1, unreadCount: 0, unreadVersion: one.own.unreadVersion + 1 }
  intercept(READ, () => Response.json({ success: true, ...left }))
  const marked = room.markRead()
  one.send('mine', { by: 'me' })
  await until(room.messages, ({ items }) => items.length === 2)
  await Promise.all([marked, room.markRead()])
  emit('channel.total_unread_changed', { count: 2 })
  await until(chat.unread, ({ total }) => total === 2)
  expect(count(READ)).toBe(1)
  const [channel] = list.getSnapshot().items.filter(({ id }) => id === 'one')
  expect(channel?.lastReadSeq).toBe(1)
})

test('a channel that was requested before it was read does not become unread again', async () => {
  const { chat, list, one, hold, emitUnread, intercept } = await listed()
  const room = chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  const record = { ...one.record(), lastReadSeq: 0 }
  emitUnread('one', 1)
  const left = { lastReadSeq: 1, unreadCount: 0, unreadVersion: one.own.unreadVersion + 1 }
  intercept(READ, () => Response.json({ success: true, ...left }))
  await room.markRead()
  const sync = hold(SYNC)
  one.delete('one-0001')
  await sync.asked
  const channels = { one: { rev: record.rev, channel: { ...record, rev: one.rev } } }
  sync.release(Response.json({ channels, more: false, settingsVersion: 0 }))
  await until(list, ({ items }) => items.every(({ lastMessage }) => !lastMessage?.deletedAt))
  expect(list.getSnapshot().items.find(({ id }) => id === 'one')?.lastReadSeq).toBe(1)
})

test('a channel in no list that is read while its record loads is shown as read', async () => {
  const { chat, channel, hold } = scriptedChat()
  const one = channel(ID)
  one.send('unread')
  await chat.connect()
  const room = chat.channel(ID)
  room.watch()
  await until(room.messages, ready)
  const sync = hold(SYNC)
  room.info.subscribe(() => {})
  await sync.asked
  one.read('me')
  await quiet()
  sync.release()
  await until(room.info, ready)
  expect(room.info.getSnapshot().channel?.lastReadSeq).toBe(1)
})
