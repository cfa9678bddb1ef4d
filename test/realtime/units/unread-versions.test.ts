import { expect, test } from 'vitest'
import { pass } from '../hub/fixture.ts'
import { openNotifier, PAUSE_MS, row, user } from './unread-fixture.ts'

const isOfBen = (sent: string) => sent.startsWith('ben ')
const read = (channelId: string, version: number, count = 0) => ({
  ...{ channelId, count, version },
  snapshot: 0,
})

test.each(['message', 'deletion'])(
  'a loaded count does not hide the %s before it',
  async (what) => {
    const { notifier, database, events } = openNotifier(row('ben', 'one', 0, 10))
    // Between the count and the load of a user who is back, a reaction raises the version.
    database.rows = [row('ben', 'one', 1, 11)]
    database.afterStatement = () => {
      database.rows = [row('ben', 'one', 1, 12)]
    }
    notifier.markDirty('one', { offset: 1, author: 'ana', isDeletion: what === 'deletion' })
    expect(await events()).toEqual(['ben one 1', 'ben total 1'])
    await pass(30_000)
    notifier.markDirty('one', { offset: 2, author: 'ana' })
    expect(await events()).toEqual([])
  },
)

test('a read that arrives after a newer count, equal to the one before, is corrected', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 10))
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  database.rows = [row('ben', 'one', 1, 12)]
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  expect(await events()).toEqual([])
  notifier.recordCount(user('ben'), read('one', 11))
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  notifier.recordCount(user('ben'), read('one', 13))
  expect(await events()).toEqual(['ben total 0'])
})

test('a count that changed before all were loaded is sent after a gap', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 10))
  notifier.channelAdded(user('ben'), { id: 'one', unreadCount: 1, unreadVersion: 10 })
  database.rows = [row('ben', 'one', 2, 12)]
  notifier.recheck(1)
  expect((await events()).filter(isOfBen)).toEqual(['ben one 2', 'ben total 2'])
})

test('a recent read that this node has missed is followed by the count', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 10))
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  await events()
  // The client that read was answered 0, before the next message.
  database.rows = [{ ...row('ben', 'one', 1, 12), isRecent: true }]
  notifier.recheck(1)
  expect((await events()).filter(isOfBen)).toEqual(['ben one 1', 'ben total 1'])
})

test('a count that was read before a newer one was sent is not sent', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 2, 10))
  notifier.markDirty('one', { offset: 1 })
  await events()
  database.rows = [row('ben', 'one', 3, 11)]
  database.afterStatement = () => notifier.recordCount(user('ben'), read('one', 12))
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  expect(await events()).toEqual([])
  expect(await events()).toEqual(['ben total 0'])
})

test('a channel that is joined while the counts are loaded stays', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 10))
  notifier.markDirty('one', { offset: 1 })
  await events()
  notifier.memberLeft(user('ben'))
  database.afterStatement = () => {
    database.rows = [row('ben', 'one', 1, 10), row('ben', 'new', 3, 5)]
    notifier.channelAdded(user('ben'), { id: 'new', unreadCount: 3, unreadVersion: 5 })
  }
  expect(await events()).toEqual(['ben total 4'])
  notifier.recordCount(user('ben'), read('new', 6, 2))
  expect((await events()).at(-1)).toBe('ben total 3')
})

test('a read in a channel that the user has just joined counts all their channels', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 10))
  notifier.markDirty('one', { offset: 1 })
  await events()
  database.rows = [row('ben', 'one', 1, 10), row('ben', 'new', 2, 5)]
  notifier.recordCount(user('ben'), read('new', 5, 2))
  expect((await events()).slice(-2)).toEqual(['ben new 2', 'ben total 3'])
})

test('lower versions count again once the rows of the node were lost', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 4, 10))
  notifier.markDirty('one', { offset: 1 })
  await events()
  database.rows = [row('ben', 'one', 1, 3)]
  notifier.invalidateAll()
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
})

test('reading many channels counts none, and sends few totals, the last exact', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `channel ${index}`)
  const { notifier, database, events } = openNotifier(
    ...names.map((name) => row('ben', name, 1, 1)),
  )
  notifier.markDirty('channel 0', { offset: 1 })
  expect((await events()).at(-1)).toBe('ben total 50')
  await pass(PAUSE_MS)
  const before = database.statements
  for (const name of names.slice(1)) {
    notifier.recordCount(user('ben'), read(name, 2))
    await pass(1)
  }
  expect(await events()).toEqual(['ben total 49', 'ben total 1'])
  expect(database.statements).toBe(before)
})

test('hundreds of channels are counted by several statements', async () => {
  const names = Array.from({ length: 500 }, (_, index) => `channel ${index}`)
  const { notifier, database, events } = openNotifier(row('ben', 'channel 0', 1))
  for (const name of names) notifier.markDirty(name, { offset: 1 })
  await events()
  const counted = database.keys.filter((keys) => String(keys[0]).startsWith('channel'))
  expect(counted.map((keys) => keys.length)).toEqual([200, 200, 100])
})
