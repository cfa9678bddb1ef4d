import {
  createChatClient,
  indexedDbStorage,
  type LoggedOut,
  memoryStorage,
  type OutboxOperation,
  type OutboxStorage,
  type Snapshots,
} from '@parley/client'
import { createSnapshots, indexedDbSnapshotStorage } from '@parley/client/snapshots'
import { IDBFactory } from 'fake-indexeddb'
import { expect, onTestFinished, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** The outbox of one user in several pages, and what is left of it after them. */

useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
})

const SEND = /^POST .*\/messages/
const OVERLOADED = { status: 503, code: 'UNAVAILABLE' }
let storages = 0
const newStorage = () => indexedDbStorage(`tabs-${storages++}`)
const stored = (storage: OutboxStorage) => storage.load('http://chat app:me')

async function live(storage: OutboxStorage, server?: ScriptedChat, snapshots?: Snapshots) {
  const tab = scriptedChat({ storage, userId: 'me', snapshots })
  if (server) tab.refuseRequests(SEND, OVERLOADED)
  if (server) tab.data.channels = server.data.channels
  const talk = server?.data.channels.get('c') ?? tab.channel('c')
  await tab.chat.connect()
  const room = tab.chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const shown = () => room.messages.getSnapshot().items.map(({ text }) => text)
  return { ...tab, talk, room, shown }
}

test('a logout in one tab discards in all tabs what is unsent', async () => {
  const storage = newStorage()
  const one = await live(storage)
  const two = await live(storage, one)
  one.refuseRequests(SEND, OVERLOADED)
  const sent = two.room.send({ text: 'unsent' }).sent
  await expect.poll(one.shown).toEqual(['unsent'])
  await expect.poll(() => stored(storage)).toHaveLength(1)
  await one.chat.logout()
  await expect(sent).rejects.toMatchObject({ code: 'ABORTED' })
  expect([two.shown(), await stored(storage)]).toEqual([[], []])
  two.chat.disconnect()
})

test('after a logout in one tab no other tab is connected or stores what it shows', async () => {
  const storage = newStorage()
  const rows = indexedDbSnapshotStorage('tabs-snapshots')
  const open = () => live(storage, undefined, createSnapshots(rows, { intervalMs: 0 }))
  const [one, two] = [await open(), await open()]
  const kept = () => rows.load('http://chat app:me')
  two.talk.send('stored')
  await expect.poll(async () => JSON.stringify(await kept())).toContain('stored')
  await one.chat.logout()
  await expect
    .poll(() => two.chat.connection.getSnapshot())
    .toMatchObject({ status: 'offline', reconnectInMs: null })
  two.talk.send('received too late')
  two.room.send({ text: 'sent too late' }).sent.catch(() => {})
  two.chat.wake()
  await quiet()
  expect([await kept(), await stored(storage)]).toEqual([[], []])
  expect(await storage.session?.load('http://chat me')).toBeUndefined()
})

test('a tab that another has logged out says so, and its client does nothing more', async () => {
  const storage = newStorage()
  const [one, two] = [await live(storage), await live(storage)]
  const ends: LoggedOut[] = []
  two.chat.on('logout', (event) => ends.push(event))
  await one.chat.logout()
  await expect.poll(() => ends).toEqual([{ type: 'logout' }])
  expect([one, two].map(({ chat }) => chat.me.getSnapshot())).toEqual([null, null])
  for (const { chat, room } of [one, two]) {
    await expect(chat.connect()).rejects.toMatchObject({ code: 'ABORTED', message: /logged out/ })
    await expect(room.send({ text: 'late' }).sent).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(room.react('1', '👍')).rejects.toMatchObject({ code: 'ABORTED' })
    await chat.logout()
  }
  expect([ends.length, await stored(storage)]).toEqual([1, []])
})

test('a tab that was disconnected during a logout ends when it connects again', async () => {
  const storage = newStorage()
  const rows = indexedDbSnapshotStorage('tabs-rejoined')
  const open = () => live(storage, undefined, createSnapshots(rows, { intervalMs: 0 }))
  const [one, two] = [await open(), await open()]
  two.chat.disconnect()
  await one.chat.logout()
  const late = two.room.send({ text: 'late' }).sent
  two.chat.connect().catch(() => {})
  await expect(late).rejects.toMatchObject({ code: 'ABORTED' })
  await expect.poll(() => two.chat.me.getSnapshot()).toBe(null)
  await quiet()
  expect([two.count(SEND), await stored(storage)]).toEqual([0, []])
  await expect.poll(() => rows.load('http://chat app:me')).toEqual([])
  expect(await storage.session?.load('http://chat me')).toBeUndefined()
})

test('a tab notified late of a logout keeps what a new login has stored', async () => {
  const storage = newStorage()
  const { chat, shown } = await live(storage)
  const others = new BroadcastChannel(`${storage.sharedAs} http://chat app:me`)
  onTestFinished(() => others.close())
  const operation = { channelId: 'c', clientId: 'k', text: 'next', attachments: [] }
  await storage.put('http://chat app:me', { ...operation, createdAt: '2026' })
  others.postMessage({ kind: 'ended' })
  others.postMessage({ kind: 'put', operation: { ...operation, createdAt: '2026' } })
  await expect.poll(shown).toEqual(['next'])
  await quiet()
  expect(chat.connection.getSnapshot().status).toBe('live')
  expect(await storage.session?.load('http://chat me')).toMatchObject({ appId: 'app' })
  await expect.poll(() => stored(storage)).toEqual([])
})

test('a logout removes what other pages have stored, even without a network', async () => {
  const storage = newStorage()
  const one = await live(storage)
  one.chat.disconnect()
  const row = { channelId: 'c', clientId: 'k', text: 'x', attachments: [], createdAt: '2026' }
  await storage.put('http://chat app:me', row)
  const token = () => Promise.reject(new Error('no network'))
  const fresh = createChatClient({ url: 'http://chat', userId: 'me', token, storage })
  await fresh.logout()
  expect(await stored(storage)).toEqual([])
  expect(await storage.session?.load('http://chat me')).toBeUndefined()
})

test('a token that comes after a logout stores no session', async () => {
  const storage = memoryStorage()
  const { chat, channel } = scriptedChat({ storage, userId: 'me' })
  channel('c')
  const connected = chat.connect().catch(() => {})
  await chat.logout()
  await chat.api.reads.unreadCount({})
  await quiet()
  expect(await storage.session?.load('http://chat me')).toBeUndefined()
  expect(chat.me.getSnapshot()).toBe(null)
  await connected
})

test('a tab never sends a message that another discarded while it was disconnected', async () => {
  const storage = newStorage()
  const one = await live(storage)
  one.refuseRequests(SEND, OVERLOADED)
  const regretted = one.room.send({ text: 'regretted' })
  await expect.poll(() => stored(storage)).toHaveLength(1)
  one.chat.disconnect()
  const two = await live(storage, one)
  await expect.poll(two.shown).toEqual(['regretted'])
  two.room.discard(regretted.clientId)
  await expect.poll(() => stored(storage)).toEqual([])
  two.chat.disconnect()
  one.refuseRequests()
  one.requests.length = 0
  await one.chat.connect()
  await expect(regretted.sent).rejects.toMatchObject({ code: 'ABORTED' })
  await quiet()
  expect([one.count(SEND), one.shown()]).toEqual([0, []])
  one.chat.disconnect()
})

test('a message that one tab sends before another has stored it does not stay stored', async () => {
  const storage = newStorage()
  const one = await live(storage)
  let store = () => {}
  const stalled = new Promise<void>((resolve) => {
    store = resolve
  })
  let isStored = false
  const put: OutboxStorage['put'] = async (owner, operation) => {
    await stalled
    await storage.put(owner, operation)
    isStored = true
  }
  const two = await live({ ...storage, put }, one)
  await two.room.send({ text: 'quick' }).sent
  expect(one.count(SEND)).toBe(1)
  store()
  await expect.poll(() => isStored).toBe(true)
  await expect.poll(() => stored(storage)).toEqual([])
  for (const { chat } of [one, two]) chat.disconnect()
})

test('an edit that waits knows after a reload which edit of the user it follows', async () => {
  const storage = newStorage()
  const one = await live(storage)
  const { id } = one.talk.send('1', { by: 'me' })
  await until(one.room.messages, ({ items }) => items.length === 1)
  const held = one.hold(/^PATCH/)
  one.holdEvents() // the first edit is not known when the second is made
  const first = one.room.edit(id, { text: 'first' })
  await held.asked
  one.room.edit(id, { text: 'second' }).catch(() => {})
  const next = one.hold(/^PATCH/)
  held.release()
  const { editedAt } = await first
  await next.asked
  const followed = async () => (await stored(storage)).map((each) => 'ifEditedAt' in each && each)
  await expect.poll(followed).toMatchObject([{ text: 'second', ifEditedAt: editedAt }])
  next.release()
  one.chat.disconnect()
})

test('a page that may not use locks sends all the same', async () => {
  const { navigator } = globalThis as unknown as { navigator: object } // as above
  const before = { ...navigator }
  const refuse = () => Promise.reject(new DOMException('not here', 'SecurityError'))
  Object.assign(navigator, { locks: { request: refuse } })
  onTestFinished(() => void Object.assign(navigator, before))
  const { room, talk, chat } = await live(newStorage())
  await room.send({ text: 'unlocked' }).sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['unlocked'])
  chat.disconnect()
})

test('damaged rows, and those of a later version, stop nothing and stay', async () => {
  const storage = newStorage()
  const rows = [
    { clientId: 'no fields' },
    { clientId: 'later', channelId: 'c', createdAt: '2026', type: 'forward' },
    { clientId: 'good', channelId: 'c', createdAt: '2026', text: 'good', attachments: [] },
  ]
  for (const row of rows) await storage.put('http://chat app:me', row as unknown as OutboxOperation)
  const { shown, chat } = await live(storage)
  await expect.poll(shown).toEqual(['good'])
  await expect.poll(() => stored(storage)).toHaveLength(2)
  chat.disconnect()
})

test('attachments that are not to be cloned are stored and sent as what they contain', async () => {
  const storage = newStorage()
  const { room, talk, chat } = await live(storage)
  const attachment = new Proxy({ type: 'file', url: 'https://x.example/a', name: 'a' }, {})
  await room.send({ text: 'proxied', attachments: [attachment as never] }).sent
  expect(talk.messages).toHaveLength(1)
  chat.disconnect()
})
