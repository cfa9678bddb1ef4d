import { indexedDbStorage } from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { isLive, isOffline, texts, until } from '../support/chat.ts'
import { type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** Which of several tabs sends: phones suspend those that nobody looks at, with their locks. */

const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
const navigator = { locks: createWebLocks(), onLine: true }
useGlobals({ indexedDB: new IDBFactory(), navigator, document })

const SEND = /^POST .*\/messages$/
const sendIn = ({ chat }: ScriptedChat, text: string) => chat.channel('c').send({ text }).sent
const countOf = (...tabs: ScriptedChat[]) => tabs.map(({ count }) => count(SEND))

/** Two tabs of a user, of which the first is open. */
async function openTabs(name: string) {
  document.visibilityState = 'visible'
  const storage = indexedDbStorage(name)
  const [first, second] = [scriptedChat({ storage }), scriptedChat({ storage })]
  second.data.channels = first.data.channels
  const talk = first.channel('c')
  await first.chat.connect()
  await sendIn(first, 'before')
  return { first, second, talk }
}

test('the tab that is looked at sends, although another was suspended with its lock', async () => {
  const { first, second, talk } = await openTabs('suspended')
  // From now on nothing works there.
  first.cut()
  await isOffline(first.chat)
  await second.chat.connect()
  await sendIn(second, 'meanwhile')
  expect(countOf(second)).toEqual([1])
  document.visibilityState = 'hidden'
  first.mend()
  await isLive(first.chat)
  first.requests.length = 0
  await sendIn(first, 'through the other')
  expect(countOf(first, second)).toEqual([0, 2])
  second.chat.disconnect()
  await sendIn(first, 'after')
  expect(countOf(first, second)).toEqual([1, 2])
  expect(texts({ items: talk.messages })).toEqual([
    'before',
    'meanwhile',
    'through the other',
    'after',
  ])
})

test('a tab that is opened in the background leaves the sending to the other', async () => {
  const { first, second } = await openTabs('background')
  first.refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  await expect(sendIn(first, 'refused')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  first.refuseRequests()
  document.visibilityState = 'hidden'
  await second.chat.connect()
  // It has read what is stored.
  await until(second.chat.channel('c').messages, (shown) => texts(shown).includes('refused'))
  await sendIn(second, 'through the other')
  expect(countOf(first, second)).toEqual([3, 0])
})

test('a tab whose turn is over leaves what it was sending to the other', async () => {
  const { first, second, talk } = await openTabs('over')
  first.cut()
  await isOffline(first.chat)
  const sent = sendIn(first, 'waits')
  second.refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  await second.chat.connect()
  await expect.poll(() => countOf(second)).toEqual([1])
  document.visibilityState = 'hidden'
  first.mend()
  await isLive(first.chat)
  first.requests.length = 0
  await expect.poll(() => countOf(second), { timeout: 10_000 }).toEqual([3])
  second.refuseRequests()
  await sent
  expect(countOf(first)).toEqual([0])
  expect(texts({ items: talk.messages })).toEqual(['before', 'waits'])
})

test('a message that another tab may have sent is not taken back unsent', async () => {
  const { first, second, talk } = await openTabs('robbed')
  first.cut()
  await isOffline(first.chat)
  navigator.onLine = false
  const { clientId, sent } = first.chat.channel('c').send({ text: 'perhaps stored' })
  navigator.onLine = true
  second.refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  await second.chat.connect()
  await expect.poll(() => countOf(second)).toEqual([1])
  const deleted = first.chat.channel('c').delete(clientId)
  second.chat.disconnect()
  first.mend()
  await Promise.all([sent, deleted])
  expect([first.count(SEND), first.count(/^DELETE .*\/messages\//)]).toEqual([2, 1])
  expect(talk.messages.at(-1)).not.toMatchObject({ text: 'perhaps stored' })
})
