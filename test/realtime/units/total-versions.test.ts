import { expect, test } from 'vitest'
import { appId } from '../hub/fixture.ts'
import { openNotifier, row, user } from './unread-fixture.ts'

/** A count of ben that another node has read from this snapshot; undefined: by an older release. */
const elsewhere = (channelId: string, [count, version]: number[], snapshot?: number) => ({
  kind: 'counts' as const,
  node: 'node',
  snapshot,
  channels: [
    {
      ...{ appId, channelId, offset: version ?? 0, author: null, isDeletion: false },
      users: [['ben', count, version] as [string, number, number]],
    },
  ],
})

/** A node whose ben was sent the total 3, read from snapshot 10. */
async function withTotalSent() {
  const opened = openNotifier(row('ben', 'one', 1, 1), row('ben', 'two', 2, 1))
  opened.database.snapshot = 10
  opened.notifier.markDirty('one', { offset: 1, author: 'ana' })
  await opened.events()
  expect(opened.versions.splice(0)).toEqual([10])
  return opened
}

test('a total has the version of the newest count in it', async () => {
  const { notifier, database, events, versions } = await withTotalSent()
  database.rows = [row('ben', 'one', 2, 2)]
  database.snapshot = 12
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  expect(await events()).toEqual(['ben one 2', 'ben total 4'])
  // Another node read this count earlier, but it comes later.
  notifier.receive(elsewhere('two', [3, 2], 11))
  expect(await events()).toEqual(['ben two 3', 'ben total 5'])
  notifier.receive(elsewhere('two', [4, 3], 13))
  expect(await events()).toEqual(['ben two 4', 'ben total 6'])
  notifier.recordCount(user('ben'), { channelId: 'two', count: 0, version: 4, snapshot: 15 })
  expect(await events()).toEqual(['ben total 2'])
  expect(versions).toEqual([12, 12, 13, 15])
})

test('a count that is not applied does not change the version', async () => {
  const { notifier, events, versions } = await withTotalSent()
  notifier.recordCount(user('ben'), { channelId: 'one', count: 0, version: 0, snapshot: 99 })
  expect((await events()).at(-1)).toBe('ben total 3')
  expect(versions).toEqual([10])
})

test('the total of a user who has left the last channel has a version', async () => {
  const { notifier, database, events, versions } = await withTotalSent()
  database.rows = []
  database.snapshot = 20
  notifier.memberLeft(user('ben'))
  expect(await events()).toEqual(['ben total 0'])
  expect(versions).toEqual([20])
})

test('a channel that comes with unread messages is counted again after its commit', async () => {
  const { notifier, database, events, versions } = await withTotalSent()
  database.rows.push(row('ben', 'new', 4, 1))
  database.snapshot = 14
  notifier.channelAdded(user('ben'), { id: 'new', unreadCount: 4, unreadVersion: 1 })
  expect((await events()).at(-1)).toBe('ben total 7')
  expect(versions).toEqual([14])
})

test('a total with a count read by a node of an earlier release has no version', async () => {
  const { notifier, events, versions } = await withTotalSent()
  notifier.receive(elsewhere('two', [3, 2]))
  expect(await events()).toEqual(['ben two 3', 'ben total 4'])
  notifier.receive(elsewhere('two', [4, 3], 11))
  expect(await events()).toEqual(['ben two 4', 'ben total 5'])
  expect(versions).toEqual([undefined, 11])
})

test('if versions may have fallen, the first total has none, so lower ones count', async () => {
  const { notifier, database, events, versions } = await withTotalSent()
  database.rows = [row('ben', 'one', 4, 1)]
  database.snapshot = 3
  notifier.invalidateAll()
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await events()).toEqual(['ben one 4', 'ben total 6'])
  database.rows = [row('ben', 'one', 5, 2)]
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  expect(await events()).toEqual(['ben one 5', 'ben total 7'])
  expect(versions).toEqual([undefined, 3])
})

test('missed counts are sent with the total, even if they do not change it', async () => {
  const { notifier, database, events } = await withTotalSent()
  // The notes of both are lost. A client that was answered between them had a total of 4.
  database.rows = [row('ben', 'one', 2, 2), row('ben', 'two', 1, 2)]
  database.snapshot = 20
  notifier.recheck(10)
  const ofBen = (await events()).filter((each) => each.startsWith('ben'))
  expect(ofBen).toEqual(['ben one 2', 'ben two 1', 'ben total 3'])
})

test('after a failover the first total of a user who was sent none has no version', async () => {
  const { notifier, database, events, versions } = openNotifier(row('ben', 'one', 1, 1))
  // Their client was answered from the database before, whose numbers were higher.
  notifier.invalidateAll()
  database.snapshot = 3
  notifier.recheck(10)
  await events()
  expect(versions[0]).toBeUndefined()
})
