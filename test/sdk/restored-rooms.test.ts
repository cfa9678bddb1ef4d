import { createSnapshots } from '@parley/client/snapshots'
import { expect, test } from 'vitest'
import { ready, texts, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'

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

test('a snapshot that is read once the room is subscribed leaves no hole', async () => {
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

test('a list that has loaded without a channel shows none of those stored', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const listed = [{ channel: scriptedChat().channel('c').record(), sortKey: 1 }]
  const value = { version: 1, epoch: EPOCH, totalUnread: 0, listed }
  const storage = {
    load: () => released.then(() => [{ key: 'list', value }]),
    put: async () => {},
    delete: async () => {},
  }
  const { chat } = scriptedChat({ snapshots: createSnapshots(storage) })
  const list = chat.channels()
  list.subscribe(() => {})
  await chat.connect()
  await until(list, ready)
  release()
  await quiet()
  expect(list.getSnapshot()).toMatchObject({ status: 'ready', items: [] })
})

test('what has loaded before the stored snapshots is stored, if nothing changes', async () => {
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
