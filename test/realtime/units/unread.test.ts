import { UnreadCache } from '@parley/server/realtime/unread/cache'
import { expect, test } from 'vitest'
import { appId, pass } from '../hub/fixture.ts'
import { openNotifier, PAUSE_MS, row, user } from './unread-fixture.ts'

test('the author of a message is sent no count, unless another author wrote as well', async () => {
  const { notifier, events } = openNotifier(row('ana', 'one', 0), row('ben', 'one', 1))
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  const other = openNotifier(row('ana', 'one', 0), row('ben', 'one', 0))
  for (const author of ['ana', 'ben']) other.notifier.markDirty('one', { offset: 1, author })
  expect(await other.events()).toEqual(['ana one 0', 'ben one 0', 'ana total 0', 'ben total 0'])
})

test('a count that was sent before a client of the user subscribed is sent again', async () => {
  const { notifier, events } = openNotifier(row('ben', 'one', 1))
  await pass(PAUSE_MS)
  const count = async (offset: number) => {
    notifier.markDirty('one', { offset, author: 'ana' })
    return events()
  }
  expect(await count(1)).toEqual(['ben one 1', 'ben total 1'])
  expect(await count(2)).toEqual([])
  notifier.clientLoads({ appId, userId: 'ben' })
  expect(await count(3)).toEqual(['ben one 1', 'ben total 1'])
  expect(await count(4)).toEqual([])
})

test('a flood of messages is counted once in a pause', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  await pass(PAUSE_MS) // the stopped clock may start at 0, and the first count waits too
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events(0)).toEqual(['ben one 1', 'ben total 1'])
  const before = database.statements
  database.rows = [row('ben', 'one', 9)]
  for (let offset = 2; offset < 10; offset++) notifier.markDirty('one', { offset, author: 'ana' })
  expect(await events(PAUSE_MS - 1)).toEqual([])
  expect(await events(1)).toEqual(['ben one 9', 'ben total 9'])
  expect(database.statements).toBe(before + 1)
})

test('counts that failed are repeated a second later, whatever they were', async () => {
  const { notifier, database, events, problems } = openNotifier(
    row('ana', 'three', 1),
    row('ben', 'one', 1),
    row('ben', 'two', 1),
    row('cem', 'one', 1),
  )
  for (const id of ['one', 'two', 'three']) notifier.markDirty(id, { offset: 1 })
  await events()
  database.failure = new Error('no database')
  database.rows = [row('ana', 'three', 1), row('ben', 'one', 1), row('cem', 'one', 2)]
  notifier.markDirty('one', { offset: 2 })
  notifier.memberLeft(user('ben'))
  notifier.recordTotal(user('ana'), 7)
  expect(await events()).toEqual([])
  expect(problems).toEqual(['unread count failed'])
  database.failure = undefined
  expect(await events(1_000)).toEqual([])
  expect(await events()).toEqual(['cem one 2', 'cem total 2', 'ben total 1', 'ana total 1'])
})

test('a count that failed is repeated for all who wrote, also since it began', async () => {
  const { notifier, database, events } = openNotifier(row('ana', 'one', 0), row('ben', 'one', 0))
  database.timeoutMs = 100
  database.onStatement = () => {
    throw new Error('no database')
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events(50)).toEqual([])
  // The statement takes longer than that, and fails then.
  notifier.markDirty('one', { offset: 2, author: 'ben' })
  expect(await events()).toEqual([])
  database.onStatement = () => {}
  await pass(1_000)
  expect(await events()).toEqual(['ana one 0', 'ben one 0', 'ana total 0', 'ben total 0'])
})

test('a connected user is sent each count once, in case the client lacks it', async () => {
  const rows = [row('ben', 'one', 1), row('ben', 'two', 2), row('ben', 'three', 3)]
  const { notifier, events } = openNotifier(...rows)
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  await events()
  await pass(18_000)
  for (let time = 0; time < 2; time++) notifier.markDirty('two', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben two 2', 'ben total 6'])
  notifier.markDirty('two', { offset: 2, author: 'ana' })
  expect(await events()).toEqual([])
  await pass(2_000)
  for (let time = 0; time < 2; time++) notifier.markDirty('three', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben three 3', 'ben total 6'])
  notifier.markDirty('three', { offset: 2, author: 'ana' })
  expect(await events()).toEqual([])
})

test('a count that is the last one again after a deletion is sent again', async () => {
  const { notifier, events } = openNotifier(row('ben', 'one', 1))
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  // A message was sent, loaded by the client with a count of 2, and deleted before it was counted.
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  notifier.markDirty('one', { offset: 3, isDeletion: true })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  notifier.markDirty('one', { offset: 4, author: 'ana' })
  expect(await events()).toEqual([])
})

test('only changes that this node has missed are counted again', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  notifier.markDirty('one', { offset: 5, author: 'ana' })
  await events()
  const changed = async (offset: number) => {
    const before = database.statements
    notifier.handleChanges([{ channelId: 'one', offset }])
    await events()
    return database.statements > before
  }
  expect([await changed(4), await changed(5), await changed(6), await changed(6)]).toEqual([
    false,
    false,
    true,
    false,
  ])
  notifier.invalidateAll()
  expect(await changed(6)).toBe(true)
})

test('a change that is counted while recent ones are looked up is not counted again', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  notifier.markDirty('one', { offset: 5, author: 'ana' })
  // All counts of all users are known.
  notifier.recheck(1)
  await events()
  const before = database.statements
  const compare = async (...recent: { channelId: string; offset: number }[]) => {
    notifier.handleChanges(recent)
    await events()
    return database.statements - before
  }
  const change = { channelId: 'one', offset: 5 }
  // The first look-up was made before the change was stored.
  expect([await compare(), await compare(change), await compare(), await compare()]).toEqual([
    0, 0, 0, 0,
  ])
  // Two comparisons without it have dropped it from memory.
  expect(await compare(change)).toBe(1)
  notifier.invalidateAll()
  expect([await compare(), await compare(change)]).toEqual([1, 2])
})

test('a deleted channel no longer counts, for those who had it', async () => {
  const rows = [row('ana', 'one', 1), row('ben', 'two', 2), row('ana', 'two', 2)]
  const { notifier, database, events } = openNotifier(...rows)
  for (const id of ['one', 'two']) notifier.markDirty(id, { offset: 1 })
  await events()
  database.rows = rows.slice(1)
  notifier.channelDeleted('one')
  expect(await events()).toEqual(['ana total 2'])
})

test('counts that operations sent are known; a stale total is corrected', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('cem', 'two', 3))
  notifier.recordTotal(user('ana'), 3)
  notifier.recordCount(user('cem'), { channelId: 'two', count: 3, version: 0, snapshot: 0 })
  // Nothing is known of ana, and cem knows the count.
  expect(await events()).toEqual(['cem total 3'])
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  await events()
  notifier.recordTotal(user('ben'), 1)
  expect(await events()).toEqual([])
  notifier.recordTotal(user('ben'), 5)
  expect(await events()).toEqual(['ben total 1'])
  database.rows = [row('ben', 'one', 0)]
  notifier.recordCount(user('ben'), { channelId: 'one', count: 0, version: 0, snapshot: 0 })
  // A channel that ben is no longer in.
  notifier.recordCount(user('ben'), { channelId: 'left', count: 4, version: 0, snapshot: 0 })
  notifier.recordTotal(user('ben'), 0)
  expect(await events()).toEqual(['ben total 0', 'ben total 0'])
})

test('the total after a read follows, even if the database failed meanwhile', async () => {
  const { notifier, database, problems, events } = openNotifier(row('cem', 'two', 3))
  database.failure = new Error('no database')
  notifier.recordCount(user('cem'), { channelId: 'two', count: 3, version: 0, snapshot: 0 })
  expect(await events()).toEqual([])
  expect(problems).toHaveLength(1)
  database.failure = undefined
  expect([...(await events(1_000)), ...(await events())]).toEqual(['cem total 3'])
})

test('a user who is sent a channel after a newer count of it is sent that again', async () => {
  const { notifier, events } = openNotifier(row('ben', 'one', 3, 7))
  notifier.markDirty('one', { offset: 1 })
  expect(await events()).toEqual(['ben one 3', 'ben total 3'])
  notifier.channelAdded(user('ben'), { id: 'one', unreadCount: 1, unreadVersion: 6 })
  expect(await events()).toEqual(['ben one 3'])
  notifier.channelAdded(user('ben'), { id: 'one', unreadCount: 1, unreadVersion: 8 })
  expect(await events()).toEqual(['ben total 1'])
})

test('nothing is counted after the end, nor kept of users without a session', async () => {
  const { notifier, database, sessions, events } = openNotifier(row('ben', 'one', 1))
  const cache = new UnreadCache(sessions)
  cache.complete([user('gone'), user('ben')], database.rows)
  expect([cache.get(user('gone')), cache.isComplete(user('ben'))]).toEqual([undefined, true])
  await notifier.stop()
  notifier.markDirty('one', { offset: 2 })
  await events(10_000)
  expect(database.statements).toBe(0)
  const idle = openNotifier(row('ben', 'one', 1))
  await idle.notifier.stop()
  idle.notifier.markDirty('one', { offset: 1 })
  await idle.events(10_000)
  expect(idle.database.statements).toBe(0)
})
