import { memoryStorage, type OutboxStorage } from '@parley/client'
import { createRecent } from '@parley/client/internal/shared/recent'
import { createSnapshots, indexedDbSnapshotStorage } from '@parley/client/snapshots'
import { IDBFactory } from 'fake-indexeddb'
import { expect, test } from 'vitest'
import { isLive, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { useGlobals } from '../support/use-globals.ts'
import { createWebLocks } from '../support/web-locks.ts'

useGlobals({
  indexedDB: new IDBFactory(),
  navigator: { locks: createWebLocks() },
})

let storages = 0

const stored = (storage: OutboxStorage) => storage.load('http://chat app:me')

/** A user who has seen a room, and comes back without a network. */
async function coldStart(options: { userId?: string } = {}) {
  const rows = indexedDbSnapshotStorage(`snapshots-${storages++}`)
  const snapshots = createSnapshots(rows, { intervalMs: 0, messages: 2 })
  const storage = memoryStorage()
  const all = { storage, snapshots, userId: 'me' }
  const before = scriptedChat(all)
  before.data.total = 3
  const talk = before.channel('c')
  for (const text of ['1', '2', '3']) talk.send(text)
  const list = before.chat.channels()
  list.subscribe(() => {})
  await before.chat.connect()
  before.chat.channel('c').watch()
  await until(before.chat.channel('c').messages, ready)
  await until(list, ready)
  const owner = 'http://chat app:me'
  await expect.poll(async () => (await rows.load(owner)).length).toBe(2)
  const again = () => {
    const after = scriptedChat({ ...all, ...options })
    after.data.channels = before.data.channels
    const room = after.chat.channel('c')
    room.watch()
    const lists = after.chat.channels()
    lists.subscribe(() => {})
    return { ...after, room, list: lists }
  }
  return { ...before, before: before.chat, talk, rows, owner, storage, snapshots, all, again }
}

test('a start without a network shows what was seen last, and what waits to be sent', async () => {
  const { before, talk, again, storage } = await coldStart()
  before.disconnect()
  before.channel('c').send({ text: 'waits' })
  await expect.poll(() => stored(storage)).toHaveLength(1)
  const { chat, room, list, cut, mend } = again()
  cut()
  chat.connect().catch(() => {})
  const shown = await until(room.messages, ({ items }) => items.length === 3)
  expect([shown.status, texts(shown), shown.hasOlder]).toEqual(['stale', ['2', '3', 'waits'], true])
  expect(await until(list, ({ items }) => items.length === 1)).toMatchObject({
    status: 'stale',
    items: [{ id: 'c' }],
    totalUnread: 3,
  })
  expect(room.send({ text: 'and more' }).message).toMatchObject({ user: { id: 'me' } })
  talk.edit('c-0002', 'edited')
  talk.delete('c-0003')
  mend()
  chat.wake()
  await isLive(chat)
  const current = await until(
    room.messages,
    (live) => ready(live) && live.items.every(({ status }) => status === 'sent'),
  )
  expect(texts(current)).toEqual(['edited', 'waits', 'and more'])
  await until(list, ready)
})

test('a snapshot replaces nothing that has loaded before it is read', async () => {
  const { before, talk, rows, again } = await coldStart()
  before.disconnect()
  talk.send('newer')
  const { load } = rows
  let read = () => {}
  const opened = new Promise<void>((resolve) => (read = resolve))
  rows.load = (owner) => opened.then(() => load(owner))
  const { chat, list } = again()
  await chat.connect()
  await until(list, ready)
  read()
  await quiet()
  expect(list.getSnapshot().items).toMatchObject([{ lastMessage: { text: 'newer' } }])
})

test('the rooms used last are kept', () => {
  const forgotten: string[] = []
  const recent = createRecent(2, (id) => forgotten.push(id))
  for (const id of ['a', 'b', 'a', 'c', 'd']) recent.add(id)
  expect(forgotten).toEqual(['b', 'a'])
})

test('state shown only for a moment before an outage is stored', async () => {
  const rows = indexedDbSnapshotStorage(`snapshots-${storages++}`)
  const snapshots = createSnapshots(rows, { intervalMs: 60_000 })
  const { chat, channel, cut } = scriptedChat({ snapshots, storage: memoryStorage() })
  channel('c').send('1')
  const list = chat.channels()
  list.subscribe(() => {})
  await chat.connect()
  const room = chat.channel('c')
  room.watch()
  await Promise.all([until(room.messages, ready), until(list, ready)])
  // The client has already looked for stored snapshots, and found none.
  expect(await rows.load('http://chat app:me')).toEqual([])
  await quiet()
  cut()
  await expect
    .poll(async () => (await rows.load('http://chat app:me')).map(({ key }) => key).sort())
    .toEqual(['list', 'room c'])
})

test('servers whose apps and users have the same ids share no outbox', async () => {
  const storage = memoryStorage()
  const here = scriptedChat({ storage })
  here.cut()
  here.chat.connect().catch(() => {})
  here.chat.channel('c').send({ text: 'for this server' })
  await expect.poll(() => stored(storage)).toHaveLength(1)
  const there = scriptedChat({ storage, url: 'http://else' })
  there.channel('c')
  await there.chat.connect()
  await quiet()
  expect(there.count(/messages/)).toBe(0)
  expect(await stored(storage)).toHaveLength(1)
})

test('a logout leaves nothing on the device, and another user sees nothing of it', async () => {
  const { before, rows, owner, storage, again } = await coldStart()
  const other = scriptedChat({ storage, userId: 'somebody' })
  other.cut()
  other.chat.connect().catch(() => {})
  await quiet()
  expect(other.chat.me.getSnapshot()).toBeNull()
  before
    .channel('c')
    .send({ text: 'unsent' })
    .sent.catch(() => {})
  await before.logout()
  expect([await rows.load(owner), await stored(storage)]).toEqual([[], []])
  const { chat, room, cut } = again()
  cut()
  chat.connect().catch(() => {})
  await quiet()
  expect([room.messages.getSnapshot().items, chat.me.getSnapshot()?.id]).toEqual([[], 'me'])
})

test('a snapshot that is not of this form or version is ignored and removed', async () => {
  const { before, rows, owner, again } = await coldStart()
  before.disconnect()
  await quiet()
  const [{ key = '', value = {} } = {}] = (await rows.load(owner)).filter(({ key }) =>
    key.startsWith('room'),
  )
  const foreign = { ...(value as object), version: 99 }
  await rows.put(owner, key, foreign)
  await rows.put(owner, 'room d', { version: 1, epoch: 'e', rev: 1, from: 0, messages: [{}] })
  const { chat, room, list, cut } = again()
  cut()
  chat.connect().catch(() => {})
  await until(list, ({ items }) => items.length === 1)
  expect(room.messages.getSnapshot().items).toEqual([])
  await expect.poll(async () => (await rows.load(owner)).map(({ key }) => key)).toEqual(['list'])
})

test('a snapshot of another numbering is dropped, and replaced by the current state', async () => {
  const { before, talk, again, rows, owner } = await coldStart()
  before.disconnect()
  const { chat, room, list, cut, mend, newEpoch } = again()
  cut()
  chat.connect().catch(() => {})
  await until(room.messages, ({ items }) => items.length === 2)
  talk.messages.splice(1)
  talk.find('c-0001').text = 'restored'
  newEpoch()
  mend()
  chat.wake()
  await isLive(chat)
  await until(list, ready)
  expect(texts(await until(room.messages, ready))).toEqual(['restored'])
  await expect.poll(async () => JSON.stringify(await rows.load(owner))).not.toContain('"text":"3"')
})

test('rooms of another numbering are dropped where no list was shown, opened or not', async () => {
  const rows = indexedDbSnapshotStorage(`snapshots-${storages++}`)
  const all = { snapshots: createSnapshots(rows, { intervalMs: 0 }), userId: 'me' }
  const storage = memoryStorage()
  const kept = async () => (await rows.load('http://chat app:me')).map(({ key }) => key).sort()
  const before = scriptedChat({ ...all, storage })
  await before.chat.connect()
  for (const id of ['a', 'b']) {
    before.channel(id).send(`before in ${id}`)
    before.chat.channel(id).watch()
  }
  await expect.poll(kept).toEqual(['room a', 'room b'])
  before.chat.disconnect()

  const { chat, channel, newEpoch } = scriptedChat({ ...all, storage })
  newEpoch()
  for (const id of ['a', 'b']) channel(id).send(`restored in ${id}`)
  await chat.connect()
  chat.channel('a').watch()
  await expect
    .poll(async () => JSON.stringify(await rows.load('http://chat app:me')))
    .toContain('restored in a')
  expect(await kept()).toEqual(['room a'])
  // A client that knows the numbering before it has read what is stored, and another after that.
  const foreign = { version: 1, epoch: 'another', rev: 1, from: 0, messages: [] }
  await rows.put('http://chat app:me', 'room b', foreign)
  const later = scriptedChat({ ...all, storage, userId: undefined })
  later.channel('a')
  await later.chat.connect()
  await expect.poll(kept).not.toContain('room b')
})

test('the rooms, messages and characters of a snapshot are limited', async () => {
  const rows = indexedDbSnapshotStorage(`snapshots-${storages++}`)
  const limits = { rooms: 2, messages: 3, length: 2_500 }
  const snapshots = createSnapshots(rows, { intervalMs: 0, ...limits })
  const { chat, channel } = scriptedChat({ storage: memoryStorage(), snapshots, userId: 'me' })
  await chat.connect()
  for (const id of ['a', 'b', 'c']) {
    const talk = channel(id)
    for (const text of ['1', '2', '3', '4'])
      talk.send(text === '3' && id === 'c' ? 'x'.repeat(2_400) : text)
    const room = chat.channel(id)
    room.watch()
    await until(room.messages, ready)
    await expect
      .poll(async () => (await rows.load('http://chat app:me')).map(({ key }) => key))
      .toContain(`room ${id}`)
  }
  const sizes = async () => (await snapshots.load('http://chat app:me')).rooms
  await expect.poll(async () => [...(await sizes()).keys()]).toEqual(['b', 'c'])
  expect(
    [...(await sizes()).values()].map(({ messages, from }) => [texts({ items: messages }), from]),
  ).toEqual([
    [['2', '3', '4'], 2],
    [['4'], 4],
  ])
})
