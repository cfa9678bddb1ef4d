import { openDatabase } from './backing-store/indexed-db.ts'
import { ClientSnapshots } from './backing-store/snapshot-keeper.ts'
import type {
  ListSnapshotData,
  RoomSnapshot,
  SnapshotSource,
  Snapshots,
  SnapshotWriter,
} from './backing-store/snapshot-source.ts'
import { isObject } from './shared/equality.ts'
import { createRecent } from './shared/recent.ts'

export type {
  ListSnapshotData,
  LoadedSnapshots,
  RoomSnapshot,
  ShownSource,
  SnapshotKeeper,
  SnapshotSource,
  Snapshots,
  SnapshotWriter,
} from './backing-store/snapshot-source.ts'

/** Where snapshots are stored, by owner (a user of a server) and key. Values are JSON. */
export type SnapshotStorage = {
  /** All rows of an owner. */
  load: (owner: string) => Promise<{ key: string; value: unknown }[]>
  /** Adds a row, or replaces the one with its key. */
  put: (owner: string, key: string, value: object) => Promise<void>
  /** Removes a row, if it is there. */
  delete: (owner: string, key: string) => Promise<void>
}
/** Options of `createSnapshots`. */
export type SnapshotOptions = {
  /** How many rooms are kept, the last ones that changed; 20 by default. */
  rooms?: number | undefined
  /** How many messages of a room, up to 100; 50 by default. */
  messages?: number | undefined
  /** How many channels of the list; 50 by default. */
  channels?: number | undefined
  /** The most characters of JSON of a room or of the list; 200,000 by default. */
  length?: number | undefined
  /** The least time between two writes, in milliseconds; 2,000 by default. */
  intervalMs?: number | undefined
  /** Called once if nothing can be stored; what is stored stays. `console.error` by default. */
  onError?: ((error: unknown) => void) | undefined
}

/** Snapshots in IndexedDB: for browsers. */
export const indexedDbSnapshots = (options: SnapshotOptions = {}): Snapshots =>
  createSnapshots(indexedDbSnapshotStorage(), options)

/** Rows of another form or version are removed. */
const VERSION = 1
const LIST = 'list'
const ROOM = 'room '

/** Stores the last channels and messages in a storage of your own. */
export function createSnapshots(
  storage: SnapshotStorage,
  { onError = (error) => console.error(error), ...options }: SnapshotOptions = {},
): Snapshots {
  const limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) limits[name as keyof typeof limits] = value // options have its fields
  /** Writes are queued, and none follows one that removes everything. */
  let writes: Promise<unknown> = Promise.resolve()
  let hasFailed = false
  const write = (work: () => Promise<void>) => {
    writes = writes.then(work).catch((error) => {
      if (!hasFailed) onError(error)
      hasFailed = true
    })
    return writes
  }
  const load = async (owner: string) => {
    await writes
    const rows = await storage.load(owner)
    const rooms = new Map<string, RoomSnapshot>()
    let list: ListSnapshotData | undefined
    for (const { key, value } of rows) {
      const room = key.startsWith(ROOM) && isRoom(value) ? value : undefined
      if (room) rooms.set(key.slice(ROOM.length), room)
      else if (key === LIST && isList(value)) list = value
      else void write(() => storage.delete(owner, key))
    }
    return { list, rooms }
  }
  const clear = async (owner: string) => {
    await write(async () => {
      for (const { key } of await storage.load(owner)) await storage.delete(owner, key)
    })
  }
  const start = (owner: string, source: SnapshotSource) => {
    const recent = createRecent(limits.rooms, (channelId) =>
      write(() => storage.delete(owner, ROOM + channelId)),
    )
    const known = write(async () => {
      for (const { key } of await storage.load(owner))
        if (key.startsWith(ROOM)) recent.add(key.slice(ROOM.length))
    })
    const rowOf = (channelId: string | undefined) => {
      const value =
        channelId === undefined
          ? boundedList(source.list(), limits)
          : boundedRoom(source.room(channelId), limits)
      if (!value) return []
      void known.then(() => {
        if (channelId !== undefined) recent.add(channelId)
      })
      const key = channelId === undefined ? LIST : ROOM + channelId
      return [{ key, value: { ...value, version: VERSION } }]
    }
    // All at once: a page that is left completes what it has begun, and begins nothing more.
    return createWriter(limits.intervalMs, (changed) => {
      const rows = changed.flatMap(rowOf)
      const put = () => Promise.all(rows.map(({ key, value }) => storage.put(owner, key, value)))
      void write(async () => void (await put()))
    })
  }
  const removeRoom = async (owner: string, channelId: string) => {
    await write(() => storage.delete(owner, ROOM + channelId))
  }
  const own = { load, start, removeRoom, clear }
  return { ...own, keep: (shown) => new ClientSnapshots(own, shown) }
}

/** Calls `store` with what has changed, at most once in a while. */
function createWriter(
  intervalMs: number,
  store: (changed: (string | undefined)[]) => void,
): SnapshotWriter {
  const changed = new Set<string | undefined>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    store([...changed])
    changed.clear()
  }
  return {
    note: (channelId) => {
      if (isStopped) return
      changed.add(channelId)
      timer ??= setTimeout(flush, intervalMs)
      if (typeof timer === 'object') timer.unref?.()
    },
    flush,
    stop: () => {
      isStopped = true
      clearTimeout(timer)
      changed.clear()
    },
  }
}

type Limits = { messages: number; channels: number; length: number }

function boundedRoom(room: RoomSnapshot | undefined, { messages: most, length }: Limits) {
  if (!room) return undefined
  const kept = lastWithin(room.messages, { most, length })
  const from = kept.length < room.messages.length ? (kept[0]?.seq ?? Number.NaN) : room.from
  return Number.isNaN(from) ? undefined : { ...room, messages: kept, from }
}

function boundedList(list: ListSnapshotData | undefined, { channels: most, length }: Limits) {
  if (!list) return undefined
  const newestLast = [...list.listed].sort((a, b) => a.sortKey - b.sortKey)
  return { ...list, listed: lastWithin(newestLast, { most, length }) }
}

function lastWithin<Item>(items: Item[], { most, length }: { most: number; length: number }) {
  let left = length
  const last = items.slice(-most).reverse()
  const beyond = last.findIndex((item) => {
    left -= JSON.stringify(item).length
    return left < 0
  })
  return (beyond === -1 ? last : last.slice(0, beyond)).reverse()
}

type Fields = Record<string, unknown>
const isListOf = (value: unknown, isItem: (item: Fields) => boolean) =>
  Array.isArray(value) && value.every((item) => isObject(item) && isItem(item))
const hasTypes = (item: Fields, types: Record<string, string>) =>
  Object.entries(types).every(([name, type]) => typeof item[name] === type)
const isStored = (value: unknown): value is Fields =>
  isObject(value) && value.version === VERSION && typeof value.epoch === 'string'

const MESSAGE = { id: 'string', userId: 'string', text: 'string', seq: 'number', rev: 'number' }
const CHANNEL = { id: 'string', type: 'string', rev: 'number', unreadCount: 'number' }

const isMessage = (message: Fields) =>
  hasTypes(message, MESSAGE) &&
  isObject(message.user) &&
  isListOf(message.reactions, ({ users }) => isListOf(users, isObject)) &&
  Array.isArray(message.attachments)

const isRoom = (value: unknown): value is RoomSnapshot =>
  isStored(value) &&
  hasTypes(value, { rev: 'number', from: 'number' }) &&
  isListOf(value.messages, isMessage)

const isList = (value: unknown): value is ListSnapshotData =>
  isStored(value) &&
  typeof value.totalUnread === 'number' &&
  isListOf(
    value.listed,
    ({ channel, sortKey }) =>
      typeof sortKey === 'number' && isObject(channel) && hasTypes(channel, CHANNEL),
  )

/** A storage in IndexedDB. */
export function indexedDbSnapshotStorage(name = 'parley-snapshots'): SnapshotStorage {
  const run = openDatabase(name, (database) =>
    database
      .createObjectStore('messages', { keyPath: ['owner', 'key'] })
      .createIndex('owner', 'owner'),
  )
  return {
    load: async (owner) => {
      const rows = await run('readonly', (rows) => rows.index('owner').getAll(owner))
      return rows as { key: string; value: unknown }[] // only `put` writes here
    },
    put: async (owner, key, value) => {
      await run('readwrite', (rows) => rows.put({ owner, key, value }))
    },
    delete: async (owner, key) => {
      await run('readwrite', (rows) => rows.delete([owner, key]))
    },
  }
}
