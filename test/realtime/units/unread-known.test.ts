import { expect, test } from 'vitest'
import { pass } from '../hub/fixture.ts'
import { openNotifier, PAUSE_MS, row, user } from './unread-fixture.ts'

/** This node does not read again the counts that it knows. */

test('a count is sent again to a client that was loading when it was sent', async () => {
  const { notifier, events } = openNotifier(row('ben', 'one', 1))
  await pass(PAUSE_MS)
  const count = async (offset: number) => {
    notifier.markDirty('one', { offset, author: 'ana' })
    return events()
  }
  expect(await count(1)).toEqual(['ben one 1', 'ben total 1'])
  await pass(30_000)
  expect(await count(2)).toEqual([])
  notifier.clientLoads(user('ben'))
  expect(await count(3)).toEqual(['ben one 1', 'ben total 1'])
  expect(await count(4)).toEqual([])
})

test('a count for the own users of a node is not repeated by a comparison', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  await pass(PAUSE_MS)
  notifier.markOwn('one', { offset: 7, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  const before = database.statements
  notifier.handleChanges([{ channelId: 'one', offset: 7 }])
  await events()
  expect(database.statements).toBe(before)
})

test('counts of users who have left this node are not read or sent', async () => {
  const { notifier, database, events } = openNotifier(row('dora', 'one', 1))
  const change = { offset: 1, author: 'ana', isDeletion: false }
  notifier.receive({
    kind: 'counts',
    node: 'node',
    channels: [{ appId: user('dora').appId, channelId: 'one', ...change, users: [['dora', 1, 1]] }],
  })
  expect([await events(), database.statements]).toEqual([[], 0])
})

test('counts are loaded once the node receives the notes of what changes them', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 1, 1))
  let settle = () => {}
  database.settled = new Promise((resolve) => {
    settle = resolve
  })
  const change = { offset: 1, author: 'ana', isDeletion: false }
  notifier.receive({
    kind: 'counts',
    node: 'node',
    channels: [{ appId: user('ben').appId, channelId: 'two', ...change, users: [['ben', 1, 1]] }],
  })
  expect([await events(), database.statements]).toEqual([[], 0])
  // Read through another node, before this one knew of the user.
  database.rows.splice(0, 1, row('ben', 'one', 0))
  settle()
  expect(await events()).toEqual(['ben two 1', 'ben total 1'])
})
