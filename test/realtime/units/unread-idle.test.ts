import { expect, test } from 'vitest'
import { appId } from '../hub/fixture.ts'
import { eventsWithin, openNotifier, row, user } from './unread-fixture.ts'

test('a count for the users of this node that failed is tried again', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  database.failure = new Error('away')
  notifier.markOwn('one', { offset: 1, author: 'ana' })
  await eventsWithin(2, events)
  database.failure = undefined
  expect(await eventsWithin(10, events)).toContain('ben one 1')
})

test('a node that has sent all totals does nothing until something happens', async () => {
  const { notifier, events, timers } = openNotifier(row('ben', 'one', 1))
  notifier.recordTotal(user('ben'), 5)
  expect(timers()).toBe(1)
  await eventsWithin(5, events)
  expect(timers()).toBe(0)
})

test('users are compared once after notes were missed, and then nothing is read', async () => {
  const { notifier, database, events, timers } = openNotifier(row('ben', 'one', 1))
  notifier.recheck(1)
  await eventsWithin(2, events)
  const before = database.statements
  expect(before).toBeGreaterThan(0)
  await eventsWithin(5, events)
  expect([database.statements, timers()]).toEqual([before, 0])
})

test('a count of another node is sent once, even if the database was unavailable', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  database.failure = new Error('away')
  const change = { offset: 1, author: 'ana', isDeletion: true }
  const users: [string, number, number][] = [['ben', 1, 1]]
  const channels = [{ appId, channelId: 'one', ...change, users }]
  notifier.receive({ kind: 'counts', node: 'node', channels })
  await eventsWithin(2, events)
  database.failure = undefined
  const sent = await eventsWithin(10, events)
  expect(sent.filter((each) => each === 'ben one 1')).toHaveLength(1)
})
