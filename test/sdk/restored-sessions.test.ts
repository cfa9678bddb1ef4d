import { memoryStorage } from '@parley/client'
import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

const KEY = 'http://chat me'
/** A provider that is waited for. */
const token = () => new Promise<never>(() => {})
const session = { appId: 'app', user: { id: 'me', name: 'As stored', image: null } }

/** A storage that has a session, and answers with it once it is released. */
function heldStorage() {
  const storage = memoryStorage()
  const sessions = storage.session
  if (!sessions) throw new Error('memory has sessions')
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const stored = sessions.put(KEY, session as never) // as a token has it, as far as it is shown
  const load = (key: string) => released.then(() => sessions.load(key))
  return { storage: { ...storage, session: { ...sessions, load } }, release, stored }
}

/** A token, by default of another app, which comes when it is minted. */
function lateToken(appId = 'another') {
  let mint = () => {}
  const minted = new Promise<void>((resolve) => {
    mint = resolve
  })
  const { scripted } = scriptedChat()
  const token = async () => {
    await minted
    return { ...(await scripted.token()), appId }
  }
  return { token, mint }
}

test('a session that is read after a logout, or after a token came, is not restored', async () => {
  const first = heldStorage()
  await first.stored
  const left = scriptedChat({ storage: first.storage, userId: 'me', token })
  left.chat.connect().catch(() => {})
  const leaving = left.chat.logout()
  first.release()
  await leaving
  await quiet()
  expect(left.chat.me.getSnapshot()).toBeNull()

  const second = heldStorage()
  await second.stored
  const { chat } = scriptedChat({ storage: second.storage, userId: 'me' })
  const connected = chat.connect()
  await until(chat.me, (me) => me !== null)
  const me = chat.me.getSnapshot()
  second.release()
  await connected
  await quiet()
  expect(chat.me.getSnapshot()).toEqual(me)
  expect(me?.name).not.toBe(session.user.name)
})

test('the session of another server with a user of the same id is not restored', async () => {
  const storage = memoryStorage()
  await storage.session?.put(KEY, session as never)
  const there = scriptedChat({ storage, userId: 'me', url: 'http://else', token })
  there.chat.connect().catch(() => {})
  await quiet()
  expect(there.chat.me.getSnapshot()).toBeNull()
})

test('nothing of another app is shown once the token names the app', async () => {
  const storage = memoryStorage()
  await storage.session?.put(KEY, session as never)
  const talk = scriptedChat().channel('c')
  talk.send('of another app')
  const { messages } = talk
  const version = { version: 1, epoch: 'e' }
  const value = { ...version, totalUnread: 0, listed: [{ channel: talk.record(), sortKey: 1 }] }
  const room = { ...version, rev: 1, from: 0, messages }
  const stored = [
    { key: 'list', value },
    { key: 'room opened before', value: room },
    { key: 'room opened after', value: room },
  ]
  const rows = {
    load: async (owner: string) => (owner.endsWith(' app:me') ? stored : []),
    put: async () => {},
    delete: async () => {},
  }
  const late = lateToken()
  const snapshots = createSnapshots(rows)
  const { chat, cut } = scriptedChat({ storage, snapshots, userId: 'me', token: late.token })
  cut()
  const list = chat.channels()
  list.subscribe(() => {})
  chat.connect().catch(() => {})
  await until(list, ({ items }) => items.length === 1)
  const textsIn = (id: string) => texts(chat.channel(id).messages.getSnapshot())
  expect(textsIn('opened before')).toEqual(['of another app'])
  late.mint()
  const shown = await until(list, ({ items }) => items.length === 0)
  expect(shown.status).toBe('loading')
  expect(textsIn('opened after')).toEqual([])
})

test('operations of another app are not sent once the token names the app', async () => {
  const storage = memoryStorage()
  await storage.session?.put(KEY, session as never)
  const owner = 'http://chat app:me'
  for (const messageId of ['c-0001', 'c-0002']) {
    const pin = { type: 'pin' as const, clientId: messageId, channelId: 'c', messageId }
    await storage.put(owner, { ...pin, createdAt: messageId })
  }
  const late = lateToken()
  const { chat, channel, count } = scriptedChat({ storage, userId: 'me', token: late.token })
  const talk = channel('c')
  for (const text of ['1', '2']) talk.send(text)
  const connected = chat.connect()
  await until(chat.me, (me) => me?.name === session.user.name)
  await quiet()
  late.mint()
  await connected
  await quiet()
  expect(count(/\/pin$/)).toBe(0)
  const kept = await storage.load(owner)
  expect(kept.map(({ clientId }) => clientId)).toEqual(['c-0001', 'c-0002'])
})

test('waiting messages are sent, with or without a slash after the address', async () => {
  const storage = memoryStorage()
  const message = { type: 'send' as const, channelId: 'c', text: 'waits', attachments: [] }
  const createdAt = new Date(0).toISOString()
  await storage.put('http://chat app:me', { ...message, clientId: 'waits', createdAt })
  const { chat, channel } = scriptedChat({ storage, url: 'http://chat/' })
  const talk = channel('c')
  await chat.connect()
  await quiet()
  expect(talk.messages.map(({ text }) => text)).toEqual(['waits'])
})

test('a pending message has the name of its author from the token', async () => {
  const storage = memoryStorage()
  await storage.session?.put(KEY, session as never)
  const late = lateToken('app')
  const { chat, channel, hold } = scriptedChat({ storage, userId: 'me', token: late.token })
  channel('c')
  hold(/POST .*messages/)
  const connected = chat.connect()
  await until(chat.me, (me) => me?.name === session.user.name)
  const room = chat.channel('c')
  room.send({ text: 'waits' })
  const nameOf = () => room.messages.getSnapshot().items.map(({ user }) => user?.name)
  expect(nameOf()).toEqual(['As stored'])
  late.mint()
  await connected
  expect(nameOf()).toEqual(['ME'])
})

test('messages before the token comes are sent after those that its app has stored', async () => {
  const storage = memoryStorage()
  const message = { type: 'send' as const, channelId: 'c', text: 'stored', attachments: [] }
  const createdAt = new Date(0).toISOString()
  await storage.put('http://chat app:me', { ...message, clientId: 'stored', createdAt })
  // Both loads take long: that of a user without an app, and the one after the token.
  const release = new Map<string, () => void>()
  const load = async (owner: string) => {
    if (owner === ':me' || owner === 'http://chat app:me')
      await new Promise<void>((resolve) => release.set(owner, resolve))
    return storage.load(owner)
  }
  const { token, mint } = lateToken('app')
  const { chat, channel } = scriptedChat({ storage: { ...storage, load }, userId: 'me', token })
  const talk = channel('c')
  const connected = chat.connect()
  chat.channel('c').send({ text: 'written' })
  await quiet()
  mint()
  await connected
  await quiet()
  release.get(':me')?.()
  await quiet()
  expect(talk.messages).toEqual([])
  release.get('http://chat app:me')?.()
  await quiet()
  expect(talk.messages.map(({ text }) => text)).toEqual(['stored', 'written'])
})
