import { OrderedMessages } from '@parley/client/internal/room/ordered'
import { snapshotOf } from '@parley/client/internal/room/snapshot'
import { emptyState } from '@parley/client/internal/room/state'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { createSnapshots, type RoomSnapshot, type SnapshotSource } from '@parley/client/snapshots'
import { expect, onTestFinished, test, vi } from 'vitest'

const OWNER = 'http://chat app:me'
const INTERVAL_MS = 2_000
const room: RoomSnapshot = { epoch: 'e', rev: 1, from: 0, messages: [] }
const source = { list: () => undefined, room: () => room }
const stored = { version: 1, ...room }
const listed = { channel: { id: 'c', type: 'group', rev: 1, unreadCount: 0 }, sortKey: 1 }
const storedList = { version: 1, epoch: 'e', totalUnread: 0, listed: [listed] }

/** A storage in memory, whose writes a test makes fail or wait. */
function openStorage() {
  const rows = new Map<string, unknown>()
  const written: string[] = []
  const state = { before: async () => {}, beforeLoad: async () => {} }
  const storage = {
    load: async () => {
      await state.beforeLoad()
      return [...rows].map(([key, value]) => ({ key, value }))
    },
    put: async (_owner: string, key: string, value: object) => {
      await state.before()
      written.push(key)
      rows.set(key, value)
    },
    delete: async (_owner: string, key: string) => void rows.delete(key),
  }
  return { rows, written, state, storage }
}

function stopClock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('a load of snapshots includes earlier writes, however long these take', async () => {
  const { storage, state } = openStorage()
  const held = createDeferred<void>()
  state.before = () => held.promise
  const snapshots = createSnapshots(storage, { intervalMs: 0 })
  const writer = snapshots.start(OWNER, source)
  writer.note('c')
  writer.flush()
  const loading = snapshots.load(OWNER)
  held.resolve()
  expect([...(await loading).rooms.keys()]).toEqual(['c'])
})

test('leaving a page begins to store all that has changed', async () => {
  const { storage, state } = openStorage()
  const begun = vi.fn()
  state.before = async () => {
    begun()
    await new Promise(() => {}) // a page that is gone runs no more code
  }
  const snapshots = createSnapshots(storage)
  const list = { epoch: 'e', listed: [], totalUnread: 0 }
  const writer = snapshots.start(OWNER, { ...source, list: () => list })
  await snapshots.load(OWNER)
  for (const id of [undefined, 'a', 'b']) writer.note(id)
  writer.flush()
  await new Promise(setImmediate)
  expect(begun).toHaveBeenCalledTimes(3)
})

test('a storage that fails again and again is reported once', async () => {
  const { storage, state } = openStorage()
  state.before = () => Promise.reject(new Error('the disk is full'))
  const onError = vi.fn()
  const snapshots = createSnapshots(storage, { onError })
  const writer = snapshots.start(OWNER, source)
  for (const id of ['a', 'b']) writer.note(id)
  writer.flush()
  await snapshots.load(OWNER)
  expect(onError.mock.calls).toEqual([[new Error('the disk is full')]])
})

test('rooms of earlier starts are among the last ones that are kept', async () => {
  const { storage, rows } = openStorage()
  for (const id of ['old', 'older']) rows.set(`room ${id}`, room)
  const snapshots = createSnapshots(storage, { rooms: 2 })
  const writer = snapshots.start(OWNER, source)
  writer.note('new')
  writer.flush()
  await expect.poll(() => [...rows.keys()].sort()).toEqual(['room new', 'room older'])
})

test('a room that changes all the time is stored once in a while, another only once', async () => {
  stopClock()
  const { storage, written } = openStorage()
  const writer = createSnapshots(storage, { intervalMs: INTERVAL_MS }).start(OWNER, source)
  writer.note('calm')
  expect(vi.getTimerCount()).toBe(1)
  for (let at = 0; at < 2 * INTERVAL_MS; at += 500) {
    writer.note('busy')
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(500)
  }
  expect(written).toEqual(['room calm', 'room busy', 'room busy'])
  writer.note('calm')
  writer.stop()
  writer.note('calm')
  expect(vi.getTimerCount()).toBe(0)
  writer.flush()
  await vi.advanceTimersByTimeAsync(INTERVAL_MS)
  expect(written).toHaveLength(3)
})

/** The state of a client that has loaded nothing, and of a room of it. */
function openClient() {
  const channels = new Map()
  const unread = { total: 0 }
  const remove = (...ids: string[]) => ids.map((id) => channels.delete(id))
  const parts = { channels, lists: new Map(), unread, refresh: () => {}, remove }
  const shown = { channels: parts, rooms: new Map(), onError: () => {} }
  const restore = vi.fn()
  const opened = { id: 'c', sync: { restore, isActive: true } } as never // it is asked for no more
  return { shown: shown as never, channels, unread, restore, opened } // nor are the counts
}

test('a logout while what is stored is being read shows nothing of it', async () => {
  const { storage, rows, state } = openStorage()
  rows.set('list', storedList)
  const held = createDeferred<void>()
  state.beforeLoad = () => held.promise
  const { shown, channels } = openClient()
  const keeper = createSnapshots(storage).keep(shown)
  const opening = keeper.open(OWNER)
  keeper.stop()
  held.resolve()
  await opening
  expect(channels.size).toBe(0)
})

test('a room shows what was stored of its numbering when it is first opened', async () => {
  const { storage, rows } = openStorage()
  rows.set('room c', stored)
  const first = openClient()
  const keeper = createSnapshots(storage).keep(first.shown)
  await keeper.open(OWNER)
  for (const room of [first.opened, first.opened]) keeper.openRoom(room)
  expect(first.restore).toHaveBeenCalledTimes(1)
  const second = openClient()
  const later = createSnapshots(storage).keep(second.shown)
  await later.open(OWNER)
  await later.handleEpoch('another')
  later.openRoom(second.opened)
  expect(second.restore).not.toHaveBeenCalled()
})

test.each([
  [false, 'go with their total', [0, 0]],
  [true, 'stay shown, as lists have loaded them', [1, 3]],
])('stored channels of another numbering (loaded: %s) %s', async (areLoaded, _, left) => {
  const { storage, rows } = openStorage()
  rows.set('list', { ...storedList, totalUnread: 3 })
  const { shown, channels, unread } = openClient()
  const keeper = createSnapshots(storage).keep(shown)
  await keeper.open(OWNER)
  expect([channels.size, unread.total]).toEqual([1, 3])
  if (areLoaded) keeper.list.end()
  await keeper.handleEpoch('another')
  expect([channels.size, unread.total]).toEqual(left)
})

test('the last hundred messages are stored, with a mark where older ones are missing', () => {
  const snapshotWith = (count: number, to = Number.POSITIVE_INFINITY) => {
    const messages = Array.from({ length: count }, (_, index) => ({
      ...{ id: `${index + 1}`, seq: index + 1, userId: 'me' },
      ...{ parentId: null, deletedAt: null },
    }))
    const mainWindow = { from: 0, to }
    const state = { ...emptyState, messages: OrderedMessages.of(messages), mainWindow }
    return snapshotOf({ state, currentAt: { epoch: 'e', offset: 1 } } as never) // all it reads
  }
  expect(snapshotWith(99)).toMatchObject({ from: 0, messages: { length: 99 } })
  expect(snapshotWith(150)).toMatchObject({ from: 51, messages: { length: 100 } })
  // Those that are shown are not the newest.
  expect(snapshotWith(150, 120)).toBeUndefined()
})

test('the newest of many channels and long messages are stored, as far as they fit', async () => {
  const { rows, storage } = openStorage()
  const snapshots = createSnapshots(storage, { channels: 2, length: 1_000 })
  const fields = { userId: 'ana', user: {}, text: 'x'.repeat(300), reactions: [], attachments: [] }
  const messages = [1, 2, 3].map((seq) => ({ id: `${seq}`, seq, rev: seq, ...fields }))
  const long = { ...room, messages } as unknown as RoomSnapshot // as far as it is read
  const list = { ...storedList, listed: [3, 1, 2].map((sortKey) => ({ ...listed, sortKey })) }
  const writer = snapshots.start(OWNER, {
    list: () => list as unknown as ReturnType<SnapshotSource['list']>, // as far as it is read
    room: () => long,
  })
  for (const id of [undefined, 'c']) writer.note(id)
  writer.flush()
  await snapshots.load(OWNER)
  expect(rows.get('list')).toMatchObject({ listed: [{ sortKey: 2 }, { sortKey: 3 }] })
  expect(rows.get('room c')).toMatchObject({ from: 2, messages: [{ id: '2' }, { id: '3' }] })
})

test('by default 20 rooms of 50 messages, and 50 channels, are stored', async () => {
  const { rows, storage } = openStorage()
  const unset = { rooms: undefined, messages: undefined, channels: undefined }
  const snapshots = createSnapshots(storage, unset)
  const sixty = Array.from({ length: 60 }, (_, index) => ({ seq: index + 1, sortKey: index }))
  const writer = snapshots.start(OWNER, {
    list: () => ({ ...storedList, listed: sixty }) as never, // as far as it is read
    room: () => ({ ...room, messages: sixty }) as never, // likewise
  })
  writer.note(undefined)
  for (let n = 1; n <= 21; n++) writer.note(`${n}`)
  writer.flush()
  await expect.poll(() => rows.size).toBe(21)
  const items = Array.from({ length: 50 }, (_, index) => sixty[index + 10])
  expect(rows.get('list')).toMatchObject({ listed: items })
  expect(rows.get('room 21')).toMatchObject({ messages: items })
})

test('snapshots of another build are not shown, and deleted', async () => {
  const { rows, storage } = openStorage()
  const fields = { id: '1', userId: 'ana', text: '', seq: 1, rev: 1, user: { id: 'ana' } }
  const message = { ...fields, reactions: [], attachments: [] }
  const unlike = [
    { ...message, user: undefined },
    { ...message, reactions: [{ type: '👍' }] },
    { ...message, attachments: undefined },
  ]
  for (const [index, each] of unlike.entries())
    rows.set(`room ${index}`, { ...stored, messages: [each] })
  rows.set('room whole', { ...stored, messages: [message] })
  const nameless = { ...listed, channel: { id: 'c' } }
  rows.set('list', { ...storedList, listed: [nameless] })
  rows.set('other', stored)
  const snapshots = createSnapshots(storage)
  const { list, rooms } = await snapshots.load(OWNER)
  expect([list, ...rooms.keys()]).toEqual([undefined, 'whole'])
  await snapshots.load(OWNER)
  expect([...rows.keys()]).toEqual(['room whole'])
})
