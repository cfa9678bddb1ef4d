import { memoryStorage } from '@parley/client'
import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

/** A logout ends all work that was begun before it. */

const KEY = 'http://chat me'
const session = { appId: 'app', user: { id: 'me', name: 'As stored', image: null } } as never

/** Snapshots whose storage answers at first with these rows, when it is released. */
function heldSnapshots(rows: { key: string; value: object }[] = []) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const answers = [released.then(() => rows)]
  const load = async () => answers.shift() ?? []
  const snapshots = createSnapshots({ load, put: async () => {}, delete: async () => {} })
  return { snapshots, release }
}

test('a logout while the client starts leaves no session on the device', async () => {
  const storage = memoryStorage()
  const { snapshots, release } = heldSnapshots()
  const { chat } = scriptedChat({ storage, snapshots, userId: 'me' })
  await chat.connect()
  await chat.logout()
  release()
  await quiet()
  expect(await storage.session?.load(KEY)).toBeUndefined()
})

test('a room that is opened after the logout shows nothing of what was stored', async () => {
  const { channel } = scriptedChat()
  const talk = channel('c')
  talk.send('secret')
  const messages = talk.messages.map((message) => ({ ...message, status: 'sent' }))
  const value = { version: 1, epoch: 'e', rev: 1, from: 0, messages }
  const storage = memoryStorage()
  await storage.session?.put(KEY, session)
  const rows = [
    { key: 'room c', value },
    { key: 'room d', value },
  ]
  const { snapshots, release } = heldSnapshots(rows)
  release()
  const { chat, cut } = scriptedChat({ storage, snapshots, userId: 'me' })
  cut()
  chat.connect().catch(() => {})
  await until(chat.channel('c').messages, ({ items }) => items.length === 1)
  await chat.logout()
  expect(chat.channel('d').messages.getSnapshot().items).toEqual([])
})

test('a tab that never had a token ends as well after a logout in another', async () => {
  const storage = memoryStorage()
  await storage.session?.put(KEY, session)
  const never = () => new Promise<never>(() => {})
  const shared = { ...storage, sharedAs: 'restored-only' }
  const { chat } = scriptedChat({ storage: shared, userId: 'me', token: never })
  chat.connect().catch(() => {})
  await until(chat.me, (me) => me?.id === 'me')
  await quiet()
  chat.disconnect()
  await storage.session?.delete(KEY)
  chat.connect().catch(() => {})
  chat.wake()
  await quiet()
  expect(chat.me.getSnapshot()).toBeNull()
})

test('a storage that fails for a moment logs no user out', async () => {
  const storage = memoryStorage()
  const sessions = { ...storage.session }
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  Object.assign(storage, { session: sessions })
  const { chat, channel } = scriptedChat({ storage, userId: 'me', onError })
  const talk = channel('c')
  await chat.connect()
  await quiet()
  chat.disconnect()
  const ends: unknown[] = []
  chat.on('logout', (event) => ends.push(event))
  sessions.load = () => Promise.reject(new Error('busy'))
  await chat.connect()
  await chat.channel('c').send({ text: 'sent' }).sent
  expect([ends, chat.me.getSnapshot()?.id]).toEqual([[], 'me'])
  expect(talk.messages.map(({ text }) => text)).toEqual(['sent'])
  expect(errors.length).toBeGreaterThan(0)
})

test('a page that is notified of a logout no longer finds the user', async () => {
  const { chat } = scriptedChat()
  await chat.connect()
  const seen: unknown[] = []
  chat.on('logout', () => seen.push(chat.me.getSnapshot()))
  await chat.logout()
  expect(seen).toEqual([null])
})
