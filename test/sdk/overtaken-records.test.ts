import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const LIST = /GET \/api\/channels\?/
const SYNC = /POST \/api\/sync/

test('a message before the subscription is shown, whatever overtakes the record', async () => {
  const { chat, channel, hold } = scriptedChat()
  const talk = channel('c')
  const { id } = talk.send('first')
  await chat.connect()
  const [list, sync] = [hold(LIST), hold(SYNC)]
  const store = chat.channels()
  store.subscribe(() => {})
  await list.asked
  // No event of it arrives: the list was read before, and the topic is subscribed after it.
  talk.send('missed')
  list.release()
  await sync.asked
  talk.react(id, '👍', 'ana')
  await quiet()
  sync.release()
  const isShown = () => store.getSnapshot().items[0]?.lastMessage?.text === 'missed'
  await until(store, isShown)
  expect(store.getSnapshot().items).toMatchObject([{ rev: 3 }])
  expect(ready(store.getSnapshot())).toBe(true)
})

test('an added channel shows its last message, whatever overtakes the record', async () => {
  const { chat, channel, hold, emit } = scriptedChat()
  await chat.connect()
  const store = chat.channels()
  store.subscribe(() => {})
  await until(store, ready)
  const talk = channel('c')
  const { id } = talk.send('first')
  const sync = hold(SYNC)
  const { lastMessage: _, ...added } = talk.record()
  emit('channel.added', { channel: added })
  await sync.asked
  talk.react(id, '👍', 'ana')
  await quiet()
  sync.release()
  await until(store, ({ items }) => items[0]?.lastMessage?.text === 'first')
})

test('a record that is ahead of a restored server is loaded once', async () => {
  const clock = stoppedClock()
  const { chat, channel, count, emit } = scriptedChat()
  const talk = channel('c')
  for (const text of ['one', 'two', 'three']) talk.send(text)
  await chat.connect()
  const store = chat.channels()
  store.subscribe(() => {})
  await clock.forward(1_000)
  expect(store.getSnapshot().items).toMatchObject([{ rev: 3 }])
  const restored = channel('c')
  restored.send('one')
  const { lastMessage: _, ...added } = restored.record()
  const before = count(SYNC)
  emit('channel.added', { channel: added })
  await clock.forward(60_000)
  expect(count(SYNC)).toBe(before + 1)
})
