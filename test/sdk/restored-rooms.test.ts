import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** The numbering of the scripted server. */
const EPOCH = 'first'

/** A client whose snapshot of a room, with its first message only, is read when it is released. */
function lateSnapshot() {
  const stored: string[] = []
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const rows: { key: string; value: object }[] = []
  const storage = {
    load: () => released.then(() => rows),
    put: async (_: string, key: string) => void stored.push(key),
    delete: async () => {},
  }
  const server = scriptedChat({ snapshots: createSnapshots(storage) })
  const talk = server.channel('c')
  const first = talk.send('1')
  const value = { version: 1, epoch: EPOCH, rev: 1, from: 0, messages: [first] }
  rows.push({ key: 'room c', value })
  for (let n = 2; n <= 60; n++) talk.send(`${n}`)
  return { ...server, talk, room: server.chat.channel('c'), release, stored }
}

test('a snapshot that is read once the room is subscribed leaves no gap', async () => {
  const { chat, room, hold, release } = lateSnapshot()
  room.watch()
  const sync = hold(/^POST \/api\/sync$/)
  void chat.connect()
  await sync.asked
  release()
  await quiet()
  expect(room.messages.getSnapshot()).toMatchObject({ status: 'loading', items: [] })
  sync.release()
  const shown = await until(room.messages, ready)
  expect([texts(shown)[0], shown.items.length, shown.hasOlder]).toEqual(['11', 50, true])
})

test('a snapshot that is read once the room was shown and left is not shown instead', async () => {
  const { chat, room, release } = lateSnapshot()
  const stop = room.watch()
  await chat.connect()
  await until(room.messages, ready)
  stop()
  chat.disconnect()
  release()
  await quiet()
  expect(texts(room.messages.getSnapshot()).at(-1)).toBe('60')
})

/** A client whose snapshot of a list with a channel is read when it is released. */
function lateList() {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const listed = [{ channel: scriptedChat().channel('c').record(), sortKey: 1 }]
  const value = { version: 1, epoch: EPOCH, totalUnread: 3, listed }
  const storage = {
    load: () => released.then(() => [{ key: 'list', value }]),
    put: async () => {},
    delete: async () => {},
  }
  return { ...scriptedChat({ snapshots: createSnapshots(storage) }), release }
}

test('a list that was loaded empty shows no stored channels', async () => {
  const { chat, hold, release } = lateList()
  const list = chat.channels()
  list.subscribe(() => {})
  const another = hold(/^GET .*type=group/)
  chat.channels({ type: 'group' }).subscribe(() => {})
  chat.connect().catch(() => {})
  await another.asked
  await until(list, ready)
  release()
  await quiet()
  expect(list.getSnapshot()).toMatchObject({ status: 'ready', items: [], totalUnread: 0 })
})

test('a snapshot that is read once connected replaces no total, and keeps no list', async () => {
  const { chat, data, release } = lateList()
  data.total = 7
  await chat.connect()
  await until(chat.unread, ({ total }) => total === 7)
  release()
  await quiet()
  expect(chat.unread.getSnapshot()).toEqual({ total: 7, byChannel: {} })
  const list = chat.channels()
  list.subscribe(() => {})
  expect((await until(list, ready)).items).toEqual([])
})

test('a snapshot that is read after an event with the total does not replace it', async () => {
  const { chat, hold, emit, release } = lateList()
  chat.channels().subscribe(() => {})
  const load = hold(/^GET \/api\/channels\?/)
  chat.connect().catch(() => {})
  await load.asked
  emit('channel.total_unread_changed', { count: 9, version: 60 })
  await until(chat.unread, ({ total }) => total === 9)
  release()
  await quiet()
  expect(chat.unread.getSnapshot().total).toBe(9)
})

test('a list that could not be loaded shows what was stored, and is loaded again', async () => {
  const clock = stoppedClock()
  const { chat, release, refuseRequests } = lateList()
  const list = chat.channels()
  refuseRequests(/channels\?/)
  list.subscribe(() => {})
  void chat.connect()
  await until(list, ({ status }) => status === 'failed')
  release()
  await quiet()
  expect(list.getSnapshot()).toMatchObject({ status: 'stale', items: [{ id: 'c' }] })
  refuseRequests()
  await clock.forward(60_000)
  expect(list.getSnapshot()).toMatchObject({ status: 'ready', items: [] })
})

test('a room loaded before its stored snapshot is stored, if nothing changes', async () => {
  const { chat, room, release, stored } = lateSnapshot()
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  await quiet()
  release()
  await quiet()
  chat.disconnect()
  await quiet()
  expect(stored).toContain('room c')
})

test('a snapshot that is read once access was lost shows nothing', async () => {
  const { chat, room, release, refuse, refuseRequests } = lateSnapshot()
  refuse('chat:app:c')
  refuseRequests(/^GET \/api\/channels\/c$/, { status: 404, code: 'NOT_FOUND' })
  room.watch()
  await chat.connect()
  await until(room.messages, ({ status }) => status === 'failed')
  release()
  await quiet()
  expect(room.messages.getSnapshot()).toMatchObject({ status: 'failed', items: [] })
})

test('a room with a gap is not stored until the gap is filled', async () => {
  const clock = stoppedClock()
  const rows = new Map<string, object>()
  const storage = {
    load: async () => [...rows].map(([key, value]) => ({ key, value })),
    put: async (_: string, key: string, value: object) => void rows.set(key, value),
    delete: async (_: string, key: string) => void rows.delete(key),
  }
  const server = scriptedChat({ snapshots: createSnapshots(storage) })
  const { chat, cut, mend, loseEvents, refuseRequests } = server
  const talk = server.channel('c')
  talk.send('1')
  const { messages } = chat.channel('c')
  messages.subscribe(() => {})
  void chat.connect()
  await clock.forward(10)
  await until(messages, ready)
  await clock.forward(2_500)
  expect(rows.get('room c')).toMatchObject({ messages: [{ text: '1' }] })
  cut()
  await isOffline(chat)
  loseEvents()
  talk.send('2')
  refuseRequests(/^POST \/api\/sync$/, { status: 503, code: 'UNAVAILABLE' })
  mend()
  chat.wake()
  await clock.forward(10)
  talk.send('3')
  // The events since are recovered, and the gap is still there.
  cut({ isCut: false })
  await isOffline(chat)
  chat.wake()
  await clock.forward(3_000)
  // The snapshot from before the gap stays, and lacks nothing up to its rev.
  expect(rows.get('room c')).toMatchObject({ rev: 1, messages: [{ text: '1' }] })
  expect(messages.getSnapshot().status).toBe('stale')
  refuseRequests()
  await clock.forward(60_000)
  await isLive(chat)
  expect(texts(messages.getSnapshot())).toEqual(['1', '2', '3'])
  await clock.forward(2_500)
  expect(rows.get('room c')).toMatchObject({
    messages: [{ text: '1' }, { text: '2' }, { text: '3' }],
  })
})

test('a list that is asked for once it was read from the device is shown', async () => {
  const { chat, cut, release } = lateList()
  cut()
  chat.connect().catch(() => {})
  release()
  await quiet()
  const { items, status } = chat.channels().getSnapshot()
  expect([items.map(({ id }) => id), status]).toEqual([['c'], 'stale'])
})
