import { indexedDbStorage } from '@parley/client'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

/** A tab that sends operations in place of another one knows how far they got. */

useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
})

const SEND = /^POST .*\/messages$/

test('a message that a closed tab may have sent is sent as it was, and edited then', async () => {
  const storage = indexedDbStorage('taken-over')
  const [one, two] = [scriptedChat({ storage }), scriptedChat({ storage })]
  two.data.channels = one.data.channels
  const talk = one.channel('c')
  for (const { chat } of [one, two]) await chat.connect()
  const room = two.chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  // The server has it, but the answer never comes.
  const lost = one.hold(SEND)
  const sending = room.send({ text: 'typo' })
  await lost.asked
  const edited = room.edit(sending.clientId, { text: 'fixed' })
  one.chat.disconnect()
  await edited
  expect(talk.messages.map(({ text }) => text)).toEqual(['fixed'])
  expect(two.bodies.get('POST /api/channels/c/messages')).toMatchObject({ text: 'typo' })
  two.chat.disconnect()
})

test('a message that a closed tab may have sent again is sent as it was, too', async () => {
  const storage = indexedDbStorage('sent-again')
  const [one, two] = [scriptedChat({ storage }), scriptedChat({ storage })]
  two.data.channels = one.data.channels
  const talk = one.channel('c')
  for (const { chat } of [one, two]) await chat.connect()
  const room = two.chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  one.refuseRequests(SEND, { status: 403, code: 'FORBIDDEN' })
  const refused = room.send({ text: 'typo' })
  await expect(refused.sent).rejects.toMatchObject({ code: 'FORBIDDEN' })
  one.refuseRequests()
  const lost = one.hold(SEND)
  refused.retry()
  await lost.asked
  const edited = room.edit(refused.clientId, { text: 'fixed' })
  one.chat.disconnect()
  await edited
  expect(talk.messages.map(({ text }) => text)).toEqual(['fixed'])
  two.chat.disconnect()
})

test('a tab that asked to send and was closed does not block the other tabs', async () => {
  const storage = indexedDbStorage('asked-often')
  const [one, two, three] = [1, 2, 3].map(() => scriptedChat({ storage }))
  if (!one || !two || !three) throw new Error('there are three')
  for (const { chat } of [one, two]) {
    await chat.connect()
    await expect.poll(() => storage.load('http://chat app:me')).toEqual([])
    await quiet()
  }
  for (const _ of [1, 2, 3]) two.chat.wake()
  await quiet()
  two.chat.disconnect()
  one.chat.disconnect()
  const talk = three.channel('c')
  await three.chat.connect()
  await three.chat.channel('c').send({ text: 'by the third' }).sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['by the third'])
  three.chat.disconnect()
})

test('an edit says which edit of the message the user has seen', async () => {
  const { chat, channel, bodies } = scriptedChat({ storage: 'memory' })
  const talk = channel('c')
  talk.send('first', { by: 'me' })
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  const seen = async (text: string) => {
    await room.edit('c-0001', { text })
    return [...bodies].findLast(([request]) => request.startsWith('PATCH'))?.[1]
  }
  expect(await seen('second')).toMatchObject({ ifEditedAt: null })
  const [{ editedAt } = {}] = room.messages.getSnapshot().items
  expect(editedAt).not.toBeNull()
  expect(await seen('third')).toMatchObject({ ifEditedAt: editedAt })
})

test('an operation comes out of IndexedDB as it was put, whatever fields it has', async () => {
  const storage = indexedDbStorage('as-it-was')
  const operation = { clientId: 'k', channelId: 'c', createdAt: '2026', text: 'x', attachments: [] }
  const newer = { ...operation, priority: 'high' }
  await storage.put('owner', newer)
  expect(await storage.load('owner')).toEqual([newer])
  expect(await storage.load('another')).toEqual([])
})

test('an edit that waits follows no edit of another message', async () => {
  const { chat, channel, bodies } = scriptedChat({ storage: 'memory' })
  const talk = channel('c')
  for (const text of ['one', 'two']) talk.send(text, { by: 'me' })
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await until(room.messages, ready)
  chat.disconnect()
  const edits = ['c-0001', 'c-0002'].map((id) => room.edit(id, { text: `${id}, edited` }))
  await chat.connect()
  const [first] = await Promise.all(edits)
  expect(first?.editedAt).not.toBeNull()
  const last = bodies.get('PATCH /api/channels/c/messages/c-0002')
  expect(last).toMatchObject({ text: 'c-0002, edited', ifEditedAt: null })
})

test('a tab sends nothing that it knew of and another tab has discarded since', async () => {
  const storage = indexedDbStorage('discarded')
  const [one, two] = [scriptedChat({ storage }), scriptedChat({ storage })]
  two.data.channels = one.data.channels
  const talk = one.channel('c')
  for (const { chat, refuseRequests } of [one, two]) {
    await chat.connect()
    await expect.poll(() => storage.load('http://chat app:me')).toEqual([])
    refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  }
  const { messages } = one.chat.channel('c')
  const regretted = two.chat.channel('c').send({ text: 'regretted' })
  regretted.sent.catch(() => {})
  await until(messages, ({ items }) => items.length === 1)
  one.chat.disconnect()
  await expect.poll(() => storage.load('http://chat app:me')).toHaveLength(1)
  regretted.discard()
  await expect.poll(() => storage.load('http://chat app:me')).toEqual([])
  two.chat.disconnect()
  one.refuseRequests()
  await one.chat.connect()
  await one.chat.channel('c').send({ text: 'wanted' }).sent
  expect(talk.messages.map(({ text }) => text)).toEqual(['wanted'])
  one.chat.disconnect()
})
