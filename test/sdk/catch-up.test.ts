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
