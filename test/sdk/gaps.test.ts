import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'

/** Shows a room, and cuts its client off: what happens from now on is missed. */
async function missEvents({ chat, cut, loseEvents }: ScriptedChat) {
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  await chat.connect()
  await until(messages, ready)
  cut()
  await isOffline(chat)
  loseEvents()
  return messages
}

test('a long gap is filled by as many answers as it takes', async () => {
  const scripted = scriptedChat()
  const { chat, channel, mend, hold } = scripted
  const talk = channel('c')
  talk.send('1')
  const messages = await missEvents(scripted)
  for (const text of ['2', '3']) talk.send(text)
  const sync = hold(/^POST \/api\/sync$/)
  mend()
  chat.wake()
  await sync.asked
  const second = talk.find('c-0002')
  const part = { rev: second.rev, channel: talk.record(), messages: [second], more: true }
  sync.release(Response.json({ channels: { c: part }, more: true, settingsVersion: 0 }))
  await isLive(chat)
  expect(texts(messages.getSnapshot())).toEqual(['1', '2', '3'])
})

test('a reader who is no member is shown what they missed', async () => {
  const scripted = scriptedChat()
  const { chat, channel, mend, intercept } = scripted
  const talk = channel('c')
  talk.send('1')
  const { id } = talk.send('deleted')
  // Older servers told only members what changed in a channel.
  const answer = { channels: { c: { removed: true } }, more: false, settingsVersion: 0 }
  intercept(/^POST \/api\/sync$/, () => Response.json(answer))
  const messages = await missEvents(scripted)
  talk.delete(id)
  talk.send('2')
  mend()
  chat.wake()
  await isLive(chat)
  await until(messages, (shown) => ready(shown) && texts(shown).join() === '1,2', 5_000)
})
