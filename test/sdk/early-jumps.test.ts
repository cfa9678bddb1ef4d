import { expect, test } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'

/** Jumps that are answered before their room is subscribed, as a link into a channel makes them. */

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)

test('a jump answered before the room is subscribed is kept, and the room is loaded', async () => {
  const { chat, channel, holdReplies, bodies } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 300; n++) talk.send(`${n}`)
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  const accept = holdReplies()
  void chat.connect()
  await messages.jumpTo('c-0100')
  accept()
  await until(messages, ready)
  expect(texts(messages.getSnapshot())).toEqual(numbers(75, 125))
  expect(bodies.get('POST /api/sync')).not.toMatchObject({ channels: { c: 0 } })
  await messages.jumpToLatest()
  expect(texts(messages.getSnapshot())).toEqual(numbers(251, 300))
})

test('a jump answered before the room is subscribed shows what changed until then', async () => {
  const { chat, channel, holdReplies } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 300; n++) talk.send(`${n}`)
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  const accept = holdReplies()
  void chat.connect()
  await messages.jumpTo('c-0100')
  talk.delete('c-0101')
  talk.edit('c-0102', 'changed')
  accept()
  await until(messages, ready)
  const shown = texts(messages.getSnapshot())
  expect(shown.slice(24, 28)).toEqual(['99', '100', 'changed', '103'])
})

test('a jump to a message that is deleted before the room is subscribed leaves it', async () => {
  const { chat, channel, holdReplies, intercept } = scriptedChat()
  const talk = channel('c')
  for (let n = 1; n <= 300; n++) talk.send(`${n}`)
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  const accept = holdReplies()
  void chat.connect()
  await messages.jumpTo('c-0100')
  talk.delete('c-0100')
  const body = { error: { code: 'NOT_FOUND', message: 'no such message' } }
  intercept(/messages\/c-0100$/, () => Response.json(body, { status: 404 }))
  accept()
  await until(messages, (snapshot) => ready(snapshot) && texts(snapshot).at(-1) === '300')
  expect(texts(messages.getSnapshot())).not.toContain('100')
})

test('a message sent before its room is opened, and deleted elsewhere, is not shown', async () => {
  const { chat, channel } = scriptedChat()
  const talk = channel('c')
  await chat.connect()
  const room = chat.channel('c')
  const { id } = await room.send({ text: 'sent' }).sent
  talk.delete(id)
  room.messages.subscribe(() => {})
  await until(room.messages, ready)
  expect(texts(room.messages.getSnapshot())).toEqual([])
})
