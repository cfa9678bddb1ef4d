import { randomUUID } from 'node:crypto'
import type { Db } from '@parley/server/db/client'
import type { PresenceNote } from '@parley/server/realtime/broker/index'
import { KnownPresence } from '@parley/server/realtime/presence/known'
import { expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { keptPerCall } from '../../support/heap.ts'
import { ana } from './fixture.ts'

const change = (isOnline: boolean): PresenceNote => ({
  ...{ kind: 'presence', ...ana, lastActiveAt: null },
  isOnline,
})

/** The changes that a comparison finds while ana is online; `onSearch` runs at each query. */
async function compareWith(onSearch: (known: KnownPresence, query: number) => void) {
  const announced: boolean[] = []
  let queries = 0
  const use = async () => {
    onSearch(known, queries)
    return [[ana], [{ ...ana, online: true, presenceVersion: 1, lastActiveAt: null }]][queries++]
  }
  const known: KnownPresence = new KnownPresence({
    db: { use } as unknown as Db, // what it calls of it
    nodeId: 'node',
    notify: ({ isOnline }) => void announced.push(isOnline),
  })
  await known.compare()
  return announced
}

test('a comparison announces users who came online unnoticed', async () => {
  expect(await compareWith(() => {})).toEqual([true])
})

test.each([0, 1])(
  'a departure that is noted while presence is compared (query %i) is not undone',
  async (query) => {
    const announced = await compareWith((known, current) => {
      if (current === query) known.record(change(false))
    })
    expect(announced).toEqual([])
  },
)

test('a departure that another node sends while presence is compared is not undone', async () => {
  const announced = await compareWith((known, query) => {
    if (query === 0) known.recordSent(ana, false)
  })
  expect(announced).toEqual([])
})

test('a change that is lost during a comparison is left to the next one', async () => {
  let compared: KnownPresence | undefined
  await compareWith((known, query) => {
    if (query === 0) return
    known.record(change(false))
    known.handleLost(change(false))
    compared = known
  })
  expect(compared?.hasLost).toBe(true)
})

const openKnown = (options = {}) =>
  new KnownPresence({
    db: { use: async () => [] } as unknown as Db, // what it calls of it
    nodeId: 'node',
    notify: () => {},
    ...options,
  })

test('changes that another node sends are sent again after notes were missed', () => {
  const known = openKnown()
  known.record({ ...change(true), announcer: { id: 'node', number: 1 } })
  known.handleMissedNotes(0)
  expect(known.hasLost).toBe(false)
  known.record({ ...change(true), announcer: { id: 'other', number: 1 } })
  known.handleMissedNotes(0, 'third')
  expect(known.hasLost).toBe(false)
  known.handleMissedNotes(0, 'other')
  expect(known.hasLost).toBe(true)
  known.record({ ...change(true), announcer: { id: 'other', number: 1 } })
  known.handleMissedNotes(0)
  expect(known.hasLost).toBe(true)
})

test('users who have come and gone take no memory', async () => {
  const known = openKnown()
  await known.compare()
  const comeAndGo = () => {
    const userId = randomUUID()
    known.record({ ...change(true), userId })
    known.recordSent({ ...ana, userId }, false)
    known.rowsWereThere(performance.now())
  }
  expect(await keptPerCall(30, { call: comeAndGo })).toBeLessThan(30)
})

test('a user whose last change is from after the last complete rows hides no others', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const known = openKnown()
  known.record(change(true))
  known.record({ ...change(true), userId: 'ben' })
  vi.advanceTimersByTime(10)
  const until = performance.now()
  vi.advanceTimersByTime(10)
  known.record(change(true))
  known.rowsWereThere(until)
  known.handleLostRows()
  expect(known.hasLost).toBe(true)
  // No one but ana is lost.
  known.record(change(true))
  expect(known.hasLost).toBe(false)
})

test('the oldest changes beyond the limit are sent again, unless they are long past', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const known = openKnown({ mostSent: 100 })
  const announce = (userId: string) =>
    known.record({ ...change(true), userId, announcer: { id: 'other', number: 1 } })
  announce('long ago')
  vi.advanceTimersByTime(121_000)
  for (const number of upTo(100)) announce(`user${number}`)
  expect(known.hasLost).toBe(false)
  announce('one more')
  expect(known.hasLost).toBe(true)
})

test('changes before a long gap are sent again, although others came since', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const known = openKnown()
  const announce = (userId: string) =>
    known.record({ ...change(true), userId, announcer: { id: 'other', number: 1 } })
  announce('before')
  vi.advanceTimersByTime(300_000)
  announce('after')
  known.record({ ...change(false), userId: 'after' })
  known.handleMissedNotes(300_000)
  expect(known.hasLost).toBe(true)
})

test('a departure that was sent but never announced is put right', async () => {
  const announced = await compareWith((known, query) => {
    if (query > 0) return
    known.record({ ...change(true), announcer: { id: 'other', number: 1 } })
    known.recordSent(ana, false)
  })
  // It was noted during this comparison: the next one finds it.
  expect(announced).toEqual([])
  const later = await compareWith((known) => known.recordSent({ ...ana, userId: 'ben' }, false))
  expect(later).toEqual([true])
})

test('online users are read in pages, each after the one before it', async () => {
  const users = upTo(10_001).map((n) => ({ ...ana, nodeId: 'node', userId: `user${n}` }))
  const parameters: unknown[][] = []
  const read = async (_: unknown, ...values: unknown[]) => {
    parameters.push(values)
    return parameters.length === 1 ? users.slice(0, 10_000) : users.slice(10_000)
  }
  const known = new KnownPresence({
    // It only uses that.
    db: { use: (work: (db: unknown) => unknown) => work(read) } as unknown as Db,
    nodeId: 'node',
    notify: () => {},
  })
  await known.start()
  expect(parameters.map(([nodeId, , userId]) => [nodeId, userId])).toEqual([
    ['', ''],
    ['node', 'user10000'],
  ])
})

test('a change that is recorded once more, or was there at the start, is known', async () => {
  const known = openKnown()
  known.handleLost(change(true))
  known.record(change(true))
  expect(known.hasLost).toBe(false)
  const announced: boolean[] = []
  const use = async () => [{ ...ana, nodeId: 'node' }]
  const started = new KnownPresence({
    db: { use } as unknown as Db, // what it calls of it
    nodeId: 'node',
    notify: ({ isOnline }) => void announced.push(isOnline),
  })
  await started.start()
  await started.compare()
  expect(announced).toEqual([])
})

test('a change that is noted during a comparison is left to the next one, if lost', async () => {
  const announced: boolean[] = []
  let isFirst = true
  // Each query has the rows of both: of who is online, and of when they were active.
  const use = async () => {
    if (isFirst) known.record(change(false))
    isFirst = false
    return [{ ...ana, nodeId: 'node', online: true, presenceVersion: 1, lastActiveAt: null }]
  }
  const known: KnownPresence = new KnownPresence({
    db: { use } as unknown as Db, // what it calls of it
    nodeId: 'node',
    notify: ({ isOnline }) => void announced.push(isOnline),
  })
  await known.compare()
  expect(announced).toEqual([])
  await known.compare()
  expect(announced).toEqual([true])
})
