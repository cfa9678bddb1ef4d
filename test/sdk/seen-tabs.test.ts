import { indexedDbStorage } from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isLive, isOffline, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** Which of several tabs sends: phones suspend hidden ones, with their locks. */

const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
const locks = createWebLocks()
const navigator = { locks, onLine: true }
const page = new EventTarget()
useGlobals({
  indexedDB: new IDBFactory(),
  navigator,
  document,
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
})

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
  return { first, second, talk, storage }
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

/** Counts the requests for locks from now on. */
function watchLocks() {
  const request = vi.fn(locks.request)
  navigator.locks = { request }
  onTestFinished(() => {
    navigator.locks = locks
  })
  return () => request.mock.calls.length
}

test('two windows side by side do not take the sending from each other', async () => {
  const asked = watchLocks()
  const { first, second, storage } = await openTabs('side-by-side')
  await second.chat.connect()
  // The second one took the lock, and the first one waits for it.
  await expect.poll(asked).toBe(3)
  first.cut()
  await isOffline(first.chat)
  first.mend()
  page.dispatchEvent(new Event('online'))
  await isLive(first.chat)
  first.requests.length = 0
  await sendIn(first, 'through the other')
  await expect.poll(() => storage.load('http://chat app:me')).toEqual([])
  await quiet()
  expect([asked(), ...countOf(first, second)]).toEqual([3, 0, 1])
})

test('a tab that missed that another took over is the only one to send once shown', async () => {
  const never = new Promise<void>(() => {})
  navigator.locks = { request: (...args) => locks.request(...args).catch(() => never) }
  const { first, second, talk } = await openTabs('thawed')
  const asked = watchLocks()
  await second.chat.connect()
  await expect.poll(asked).toBe(1)
  first.chat.wake()
  // The first one took the lock, and the second one waits for it.
  await expect.poll(asked).toBe(3)
  const held = first.hold(SEND)
  const sent = sendIn(first, 'once')
  await held.asked
  await quiet()
  held.release()
  await sent
  expect(countOf(first, second)).toEqual([2, 0])
  expect(texts({ items: talk.messages })).toEqual(['before', 'once'])
})

test('a message of a page that was left is not taken back unsent if another had it', async () => {
  const { first, second, talk } = await openTabs('left')
  first.refuseRequests(SEND, { status: 429, code: 'RATE_LIMITED' })
  const { clientId, sent } = first.chat.channel('c').send({ text: 'perhaps stored' })
  await expect.poll(() => countOf(first)).toEqual([2])
  page.dispatchEvent(new Event('pagehide'))
  second.refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  await second.chat.connect()
  await expect.poll(() => countOf(second)).toEqual([1])
  second.chat.disconnect()
  const deleted = first.chat.channel('c').delete(clientId)
  first.refuseRequests()
  document.dispatchEvent(new Event('visibilitychange'))
  await Promise.all([sent, deleted])
  expect(first.count(/^DELETE .*\/messages\//)).toBe(1)
  expect(talk.messages.at(-1)).not.toMatchObject({ text: 'perhaps stored' })
})

test('a hidden tab that comes back leaves the sending to the one that took over', async () => {
  const asked = watchLocks()
  const { first, second } = await openTabs('came-back')
  document.visibilityState = 'hidden'
  first.chat.disconnect()
  await second.chat.connect()
  await sendIn(second, 'meanwhile')
  await first.chat.connect()
  // It waits for the lock, which the second one holds.
  await expect.poll(asked, { timeout: 10_000 }).toBe(3)
  await sendIn(first, 'through the other')
  expect(countOf(first, second)).toEqual([1, 2])
})

test('the return of the network does not change which window sends', async () => {
  const asked = watchLocks()
  const { first, second, storage } = await openTabs('network-back')
  await second.chat.connect()
  await expect.poll(asked).toBe(3)
  page.dispatchEvent(new Event('online'))
  first.requests.length = 0
  await sendIn(second, 'from the one that sends')
  await sendIn(first, 'through the one that sends')
  // A tab that took over would have read what is stored.
  await expect.poll(() => storage.load('http://chat app:me')).toEqual([])
  await quiet()
  expect([asked(), ...countOf(first, second)]).toEqual([3, 0, 2])
})
