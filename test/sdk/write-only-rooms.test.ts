import type { ChatClient } from '@parley/client'
import { LiveRoom } from '@parley/client/internal/room/index'
import { expect, test } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { openAndLeave } from '../support/scripted/leave.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Rooms that a bot or a form only writes to, and that have no watchers. */

const shown = (chat: ChatClient, id: string) => texts(chat.channel(id).messages.getSnapshot())
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)
/** How many messages a room has in memory. */
function kept(chat: ChatClient, id: string) {
  const room = chat.channel(id)
  return room instanceof LiveRoom ? room.sync.state.messages.size : Number.NaN
}
async function write(chat: ChatClient, id: string, all: string[]) {
  await Promise.all(all.map((text) => chat.channel(id).send({ text }).sent))
}

test('a room that is only written to keeps a bounded number of its messages', async () => {
  const { chat, channel } = scriptedChat()
  channel('c')
  await chat.connect()
  await write(chat, 'c', numbers(1, 300))
  expect(kept(chat, 'c')).toBeLessThanOrEqual(100)
  expect(shown(chat, 'c')).toEqual(numbers(251, 300))
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await until(messages, ready)
  await messages.loadOlder()
  expect(shown(chat, 'c')).toEqual(numbers(201, 300))
})

test('the last 20 rooms that are only written to keep their messages', async () => {
  const { chat, channel } = scriptedChat()
  await chat.connect()
  const ids = numbers(10, 31)
  for (const id of ids) {
    channel(id)
    await write(chat, id, [`to ${id}`])
  }
  expect(ids.map((id) => shown(chat, id))).toEqual([
    [],
    [],
    ...ids.slice(2).map((id) => [`to ${id}`]),
  ])
})

test('a room that was left is written to without growing, and is whole when back', async () => {
  const clock = stoppedClock()
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  for (const text of numbers(1, 60)) talk.send(text)
  await chat.connect()
  const { messages } = chat.channel('c')
  await openAndLeave(messages, clock)
  const written = write(chat, 'c', numbers(61, 200))
  for (let second = 0; second < 5; second++) await clock.forward(1_000)
  await written
  talk.send('theirs')
  expect(kept(chat, 'c')).toBeLessThanOrEqual(100)
  expect(messages.getSnapshot().hasOlder).toBe(true)
  expect(shown(chat, 'c').at(-1)).toBe('200')
  messages.subscribe(() => {})
  await clock.forward(10)
  await until(messages, ready)
  while (messages.getSnapshot().hasOlder) await messages.loadOlder()
  expect(texts(messages.getSnapshot())).toEqual([...numbers(1, 200), 'theirs'])
})

test('a message sent before the newest page is not shown below it', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  await write(chat, 'c', ['mine'])
  for (const text of numbers(1, 60)) talk.send(text)
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  expect(texts(await until(messages, ready))).toEqual(numbers(11, 60))
  await messages.loadOlder()
  expect(texts(messages.getSnapshot())).toEqual(['mine', ...numbers(1, 60)])
})

test('edits in an unwatched room are not kept without end', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  for (const text of numbers(1, 150)) talk.send(text, { by: 'me' })
  await chat.connect()
  for (const { id } of talk.messages) await chat.channel('c').edit(id, { text: 'edited' })
  expect(kept(chat, 'c')).toBeLessThanOrEqual(100)
})
