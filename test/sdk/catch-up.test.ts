import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const SYNC = /^POST \/api\/sync$/

test('a channel that a sync answer had no room for is asked for again', async () => {
  const { chat, channel, tell, hold, count } = scriptedChat()
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const added = channel('new')
  added.send('hello')
  const { lastMessage: _, ...record } = added.record()
  const before = count(SYNC)
  const sync = hold(SYNC)
  tell('channel.added', { channel: record })
  await sync.asked
  sync.release(Response.json({ channels: { new: { more: true, rev: 0 } }, more: true }))
  await until(list, ({ items }) => items[0]?.lastMessage?.text === 'hello')
  await quiet()
  expect(count(SYNC)).toBe(before + 2)
})

test('what a sync answer leaves out is loaded by calls of its own', async () => {
  const { chat, channel, hold, count } = scriptedChat()
  const talk = channel('c')
  talk.send('hello')
  await chat.connect()
  const room = chat.channel('c')
  const sync = hold(SYNC)
  room.watch()
  for (const store of [room.members, room.reads]) store.subscribe(() => {})
  await sync.asked
  sync.release(Response.json({ channels: { c: { removed: true } }, more: false }))
  const { items } = await until(room.messages, ready)
  expect(items.map(({ text }) => text)).toEqual(['hello'])
  await until(room.members, (members) => ready(members) && members.items.length === 2)
  await until(room.reads, ({ ana }) => ana?.lastReadSeq === 1)
  await quiet()
  const own = [/\/messages\?/, /\/members\?/, /\/read-status\?/].map(count)
  expect(own).toEqual([1, 1, 1])
})
