import { indexedDbStorage } from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { isLive, isOffline, texts } from '../support/chat.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** Pages that browsers keep after they were left, to show them again at once. */

const page = new EventTarget()
useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
})

test('a page that was left lets the next one send, and sends again once it is back', async () => {
  const storage = indexedDbStorage('left')
  const left = scriptedChat({ storage })
  const talk = left.channel('c')
  await left.chat.connect()
  await left.chat.channel('c').send({ text: 'before' }).sent
  // From now on nothing runs there, but it keeps its state.
  left.cut()
  await isOffline(left.chat)
  page.dispatchEvent(new Event('pagehide'))

  const next = scriptedChat({ storage })
  next.data.channels = left.data.channels
  await next.chat.connect()
  await next.chat.channel('c').send({ text: 'meanwhile' }).sent
  next.chat.disconnect()

  left.mend()
  page.dispatchEvent(new Event('online'))
  await isLive(left.chat)
  await left.chat.channel('c').send({ text: 'after' }).sent
  expect(texts({ items: talk.messages })).toEqual(['before', 'meanwhile', 'after'])
})

test('messages that are written without a network show in other pages, too', async () => {
  const storage = indexedDbStorage('offline')
  const [one, two] = [scriptedChat({ storage }), scriptedChat({ storage })]
  two.data.channels = one.data.channels
  one.channel('c')
  for (const { chat } of [one, two]) {
    await chat.connect()
    await chat.channel('c').send({ text: 'before' }).sent
  }
  for (const { chat, cut } of [one, two]) {
    cut()
    await isOffline(chat)
  }
  page.dispatchEvent(new Event('offline'))
  one.chat.channel('c').send({ text: 'written offline' })
  const shown = () => texts(two.chat.channel('c').messages.getSnapshot())
  await expect.poll(shown).toContain('written offline')
})

test('a page that disconnects lets another one send', async () => {
  const storage = indexedDbStorage('disconnected')
  const [one, two] = [scriptedChat({ storage }), scriptedChat({ storage })]
  two.data.channels = one.data.channels
  one.channel('c')
  for (const { chat } of [one, two]) await chat.connect()
  await two.chat.channel('c').send({ text: 'before' }).sent
  expect([one, two].map(({ count }) => count(/messages$/))).toEqual([1, 0])
  one.chat.disconnect()
  await two.chat.channel('c').send({ text: 'after' }).sent
  expect(two.count(/messages$/)).toBe(1)
})
