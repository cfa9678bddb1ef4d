import {
  type ChatClient,
  indexedDbStorage,
  memoryStorage,
  type OutboxStorage,
  type Refused,
} from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
})

const SEND = /^POST .*\/messages$/
const READ = /read$/
const FORBIDDEN = { status: 403, code: 'FORBIDDEN' }
let storages = 0
const newStorage = () => indexedDbStorage(`offline-${storages++}`)

/** A live client with an open room of three messages of the user. */
async function opened(storage: OutboxStorage = memoryStorage()) {
  const chat = scriptedChat({ storage })
  const talk = chat.channel('c')
  for (const text of ['1', '2', '3']) talk.send(text, { by: 'me' })
  await chat.chat.connect()
  const room = chat.chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const shown = () => room.messages.getSnapshot().items
  const goOffline = async () => {
    chat.cut()
    await isOffline(chat.chat)
    chat.requests.length = 0
  }
  const comeBack = async () => {
    chat.mend()
    chat.chat.wake()
    await isLive(chat.chat)
  }
  return { ...chat, storage, talk, room, shown, goOffline, comeBack }
}
/** Another page of the same user on the same server, that only waits in the background. */
const tabOf = (server: ScriptedChat, storage: OutboxStorage) => {
  const tab = scriptedChat({ storage })
  tab.data.channels = server.data.channels
  return tab
}
const stored = (storage: OutboxStorage) => storage.load('http://chat app:me')
const changes = (requests: string[]) =>
  requests.filter((request) => /messages|pin|read$/.test(request) && !request.startsWith('GET'))

test('changes made offline are shown at once, and sent in order later', async () => {
  const { room, shown, goOffline, comeBack, talk, requests } = await opened()
  await goOffline()
  const attachments = ['a', 'b'].map((name) => ({ type: 'image', url: `https://${name}.test` }))
  const done = [
    room.edit('c-0001', { text: 'edited' }),
    room.react('c-0001', '👍'),
    room.pin('c-0002'),
    room.send({ text: 'new', attachments }).sent,
    room.send({ text: 'newer' }).sent,
    room.delete('c-0003'),
    room.markRead(),
  ]
  expect(texts({ items: shown() })).toEqual(['edited', '2', 'new', 'newer'])
  expect(shown()[0]).toMatchObject({ reactions: [{ type: '👍', own: true }] })
  expect(shown()[1]).toMatchObject({ pinned: true })
  expect(shown()[2]).toMatchObject({ attachments })
  await comeBack()
  await Promise.all(done)
  const ofChannel = changes(requests).filter((request) => !request.endsWith('/read'))
  expect(ofChannel.filter((request, index) => ofChannel.indexOf(request) === index)).toEqual([
    'PATCH /api/channels/c/messages/c-0001',
    'POST /api/channels/c/messages/c-0001/reactions',
    'POST /api/channels/c/messages/c-0002/pin',
    'POST /api/channels/c/messages/batch',
    'DELETE /api/channels/c/messages/c-0003',
  ])
  expect(talk.messages.filter(({ deletedAt }) => !deletedAt).map(({ text }) => text)).toEqual([
    'edited',
    '2',
    'new',
    'newer',
  ])
})

test('a change that was made before a reload is shown and sent after it', async () => {
  const first = await opened()
  await first.goOffline()
  first.room.react('c-0001', '👍').catch(() => {})
  first.room.edit('c-0002', { text: 'edited' }).catch(() => {})
  await expect.poll(() => stored(first.storage)).toHaveLength(2)
  first.chat.disconnect()
  const second = tabOf(first, first.storage)
  const held = second.hold(/reactions$/)
  await second.chat.connect()
  const room = second.chat.channel('c')
  room.watch()
  const { items } = await until(room.messages, ready)
  await held.asked
  expect(items[0]?.reactions).toMatchObject([{ own: true }])
  expect(items[1]?.text).toBe('edited')
  held.release()
  await expect.poll(() => stored(first.storage)).toEqual([])
  expect(first.talk.find('c-0001').reactions).toMatchObject([{ type: '👍', count: 1 }])
})

test('a change that is refused after a reload is taken back, and listeners learn why', async () => {
  const first = await opened()
  await first.goOffline()
  first.room.pin('c-0001').catch(() => {})
  await expect.poll(() => stored(first.storage)).toHaveLength(1)
  first.chat.disconnect()
  const second = tabOf(first, first.storage)
  const refused: Refused[] = []
  second.chat.on('outbox.refused', (event) => refused.push(event))
  second.refuseRequests(/pin$/, FORBIDDEN)
  await second.chat.connect()
  const room = second.chat.channel('c')
  room.watch()
  await until(room.messages, ({ items }) => items.length === 3 && !items[0]?.pinned)
  await expect
    .poll(() => refused)
    .toMatchObject([
      { channelId: 'c', operation: { type: 'pin', messageId: 'c-0001' }, error: FORBIDDEN },
    ])
  expect(await stored(first.storage)).toEqual([])
})

test('a channel whose operation fails again and again holds up no other channel', async () => {
  const { chat, channel, refuseRequests, goOffline, comeBack } = await opened()
  const other = channel('d')
  await goOffline()
  const stuck = chat.channel('c').pin('c-0001')
  const sent = chat.channel('d').send({ text: 'elsewhere' }).sent
  refuseRequests(/pin$/, { status: 503, code: 'UNAVAILABLE' })
  await comeBack()
  await sent
  expect(other.messages).toHaveLength(1)
  refuseRequests()
  chat.wake()
  await stuck
})

test('a call that was carried out before its answer was lost has its effect once', async () => {
  const { room, talk, hold, refuseRequests, chat } = await opened()
  for (const pattern of [SEND, /^DELETE/]) {
    const held = hold(pattern)
    const done = pattern === SEND ? room.send({ text: 'once' }).sent : room.delete('c-0001')
    await held.asked
    // The server answers a repeated deletion with 404.
    refuseRequests(pattern === SEND ? undefined : pattern, { status: 404, code: 'NOT_FOUND' })
    held.release(new Response('', { status: 502 }))
    await quiet()
    chat.wake()
    await done
  }
  expect(talk.messages.filter(({ text }) => text === 'once')).toHaveLength(1)
  expect(talk.find('c-0001').deletedAt).not.toBeNull()
})

test('a read made without a network does not mark messages that arrive later', async () => {
  const { chat, room, talk, goOffline, comeBack, hold, bodies } = await opened()
  talk.send('4')
  await until(room.messages, ({ items }) => items.length === 4)
  await goOffline()
  const held = hold(READ)
  const read = room.markRead()
  talk.send('5, not seen')
  await comeBack()
  await held.asked
  const asked = [bodies.get('POST /api/channels/c/read')]
  held.release(new Response('', { status: 502 }))
  await until(room.messages, ({ items }) => items.length === 5)
  // The next attempt is made while the fifth is shown, and no one has seen it either.
  chat.wake()
  await read
  asked.push(bodies.get('POST /api/channels/c/read'))
  expect(asked).toEqual([{ messageId: 'c-0004' }, { messageId: 'c-0004' }])
  expect(talk.reads.get('me')).toBe(4)
  const { items } = await until(chat.channels(), ready)
  expect(items).toMatchObject([{ id: 'c', lastReadSeq: 4, unreadCount: 1 }])
})

test('two channels that are read without a network are both marked as read', async () => {
  const { chat, channel, room, talk, goOffline, comeBack } = await opened()
  const other = channel('d')
  for (const each of [talk, other]) each.send('unread')
  const second = chat.channel('d')
  second.watch()
  await until(second.messages, ready)
  await goOffline()
  const marked = [room.markRead(), second.markRead()]
  await comeBack()
  await Promise.all(marked)
  expect([talk, other].map(({ reads }) => reads.get('me'))).toEqual([4, 1])
})

test('one tab sends, every tab shows it, and a discard in one is a discard in all', async () => {
  const storage = newStorage()
  const one = await opened(storage)
  const two = tabOf(one, storage)
  await two.chat.connect()
  const other = two.chat.channel('c')
  other.watch()
  await until(other.messages, ready)
  one.refuseRequests(/^POST .*\/messages/, { status: 503, code: 'UNAVAILABLE' })
  const kept = other.send({ text: 'kept' })
  const regretted = other.send({ text: 'regretted' })
  const pending = (chat: ChatClient) =>
    chat
      .channel('c')
      .messages.getSnapshot()
      .items.flatMap(({ text, status }) => (status === 'pending' ? [text] : []))
  await expect.poll(() => pending(one.chat)).toEqual(['kept', 'regretted'])
  const [shared] = one.shown().filter(({ text }) => text === 'regretted')
  one.room.discard(shared?.clientId ?? '')
  await expect(regretted.sent).rejects.toMatchObject({ code: 'ABORTED' })
  expect(pending(two.chat)).toEqual(['kept'])
  one.refuseRequests()
  one.chat.wake()
  expect(await kept.sent).toMatchObject({ text: 'kept' })
  expect(two.count(SEND)).toBe(0)
  // The tab that sent is closed: the other one goes on.
  one.chat.disconnect()
  await other.send({ text: 'mine' }).sent
  expect(two.count(SEND)).toBe(1)
})

test('a storage that is full or forbidden loses nothing while the page is open', async () => {
  const errors: unknown[] = []
  const fails = () => Promise.reject(new Error('QuotaExceededError'))
  const storage = { load: fails, put: fails, delete: fails }
  const { chat, channel } = scriptedChat({ storage, onError: (error) => errors.push(error) })
  const talk = channel('c')
  await chat.connect()
  chat.disconnect()
  const out = chat.channel('c').send({ text: 'in memory' })
  await chat.connect()
  await out.sent
  expect(talk.messages).toHaveLength(1)
  expect(errors.length).toBeGreaterThan(0)
})
