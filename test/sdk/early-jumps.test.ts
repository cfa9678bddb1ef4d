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
