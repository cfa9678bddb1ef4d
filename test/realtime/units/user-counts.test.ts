import { Sessions } from '@parley/server/realtime/sessions'
import { UnreadCache } from '@parley/server/realtime/unread/cache'
import { ReceivedCounts } from '@parley/server/realtime/unread/received-counts'
import { UserCounts } from '@parley/server/realtime/unread/user-counts'
import { expect, test } from 'vitest'
import { ana } from './fixture.ts'

test('a count that an operation has sent outlives a load that began before it', () => {
  const counts = new UserCounts(ana, new Map())
  counts.recordSent('joined', { count: 1, version: 1, snapshot: 0 }, 100)
  // Sent again by this node, as a newer one.
  counts.recordSent('joined', { count: 2, version: 2, snapshot: 0 })
  expect(counts.complete(new Map(), { startedAt: 50, snapshot: 0 })).toBe(false)
  expect(counts.total).toBe(2)
  expect(counts.complete(new Map(), { startedAt: 150, snapshot: 0 })).toBe(true)
  expect(counts.total).toBe(0)
})

test('no count of a user who has left is kept', () => {
  const sessions = new Sessions()
  sessions.add({ ...ana, generation: 0, topics: [], close: () => {} })
  const cache = new UnreadCache(sessions)
  cache.complete([ana], [{ ...ana, channelId: 'c', count: 1, version: 1, snapshot: 0 }])
  expect(cache.usersOf('c')).toEqual([ana])
  cache.forget(ana)
  expect([cache.usersOf('c'), cache.has('c')]).toEqual([[], false])
})

test('the newer of two counts is kept, with the changes behind both', () => {
  const counts = new ReceivedCounts()
  const count = { ...ana, channelId: 'c', snapshot: 0, author: 'ben' }
  counts.receive({ ...count, count: 1, version: 8, offset: 8, isDeletion: true })
  counts.receive({ ...count, count: 2, version: 9, offset: 9, isDeletion: false })
  counts.receive({ ...count, count: 3, version: 7, offset: 7, author: 'cem', isDeletion: false })
  expect(counts.all()).toEqual([
    { ...count, count: 2, version: 9, offset: 9, author: null, isDeletion: true },
  ])
})
