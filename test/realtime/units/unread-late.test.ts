import { expect, test } from 'vitest'
import {
  cutShort,
  eventsWithin,
  openNotifier,
  row,
  timeout,
  timesWithin,
  user,
} from './unread-fixture.ts'

test.each([
  ['took too long', timeout],
  ['were cut short by a full pool', cutShort],
])('a user whose counts %s is not sent a total of a part of them', async (_, error) => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 0, 2), row('ben', 'two', 5))
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw error()
  }
  notifier.recordCount(user('ben'), { channelId: 'one', count: 0, version: 2, snapshot: 0 })
  expect(await eventsWithin(30, events)).toEqual([])
  database.rows = [row('ben', 'one', 1, 3), row('ben', 'two', 5)]
  notifier.markDirty('one', { offset: 9, author: 'ana' })
  expect(await eventsWithin(3, events)).toEqual(['ben one 1'])
  database.onStatement = () => {}
  expect(await eventsWithin(60, events)).toEqual(['ben total 6'])
})

/** A notifier with these users, to whose channel ana has written. */
function openWithUsers(names: string[]) {
  const opened = openNotifier(...names.map((name) => row(name, 'one', 1)))
  for (const session of opened.sessions.of(user('ana')))
    for (const userId of names) opened.sessions.add({ ...session, userId })
  return opened
}
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `user ${index}`)

test('a count is sent however long it takes to load those of the other users', async () => {
  const names = namesOf(450)
  const { notifier, database, events } = openWithUsers(names)
  database.readMs = (keys) => (keys.length > 1 ? 15_000 : 0)
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  const sent = await eventsWithin(60, events)
  expect(sent.filter((each) => each.endsWith('one 1'))).toEqual(
    names.map((name) => `${name} one 1`),
  )
})

test('a count is sent if loading those of other users fails in between', async () => {
  const names = namesOf(450)
  const { notifier, database, events } = openWithUsers(names)
  database.readMs = (keys) => (keys.length > 1 ? 15_000 : 0)
  database.onStatement = (keys) => {
    if (keys.includes('user 449')) throw new Error('connection lost')
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await eventsWithin(60, events)).toEqual([])
  database.onStatement = () => {}
  const sent = await eventsWithin(30, events)
  expect(sent.filter((each) => each.endsWith('one 1'))).toEqual(
    names.map((name) => `${name} one 1`),
  )
})

test('a count that took long is sent to a user whose counts were loaded meanwhile', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 1))
  database.onStatement = (keys) => {
    if (keys.includes('one')) throw timeout()
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  notifier.markDirty('two', { offset: 1, author: 'ana' })
  expect(await eventsWithin(30, events)).toEqual(['ben two 1', 'ben total 2'])
  database.onStatement = () => {}
  expect(await eventsWithin(60, events)).toEqual(['ben one 1', 'ben total 2'])
})

test.each([
  [['user 3'], 15],
  [['user 3', 'user 150'], 22],
])('counts of %j that take too long do not delay those of others', async (slow, seconds) => {
  const names = namesOf(190)
  const { notifier, database, events, problems } = openWithUsers(names)
  database.rows.push(row('ana', 'two', 1), row('ben', 'two', 1))
  database.timeoutMs = 4_000
  let timeouts = 0
  database.onStatement = (keys) => {
    if (!slow.some((each) => keys.includes(each))) return
    timeouts += 1
    throw timeout()
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  const times = await timesWithin(5, events)
  notifier.markDirty('two', { offset: 1, author: 'ana' })
  const later = await timesWithin(60, events)
  // The counts of a channel are sent after one statement that took too long, those of others at
  // once, and totals once the users who are slow are known.
  expect(names.filter((name) => (times.get(`${name} one 1`) ?? 99) > 4.5)).toEqual([])
  expect(later.get('ben two 1')).toBeLessThan(1)
  const totals = names.map((name) => times.get(`${name} total 1`) ?? later.get(`${name} total 1`))
  expect(names.filter((_, index) => totals[index] === undefined)).toEqual(slow)
  expect(Math.max(...totals.map((at = 0) => at))).toBeLessThan(seconds - 5)
  // Then each is tried alone, every eight seconds.
  expect([timeouts <= 1 + 8 * slow.length, problems.length <= 5 * slow.length]).toEqual([
    true,
    true,
  ])
})

test('a change that was missed is counted for users whose counts are not loaded yet', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  database.onStatement = (keys) => {
    if (keys.includes('cem')) throw timeout()
  }
  notifier.handleChanges([{ channelId: 'one', offset: 1 }])
  expect(await eventsWithin(3, events)).toContain('ben one 1')
})

test('a user who leaves a channel while they are loaded is sent the total after it', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 2))
  database.onStatement = (keys) => {
    if (keys.length > 1) throw timeout()
  }
  notifier.recheck(1)
  database.readMs = () => 3_000
  // The load of ana has ended, and that of ben is under way.
  await eventsWithin(4, events)
  database.rows = [row('ben', 'two', 2)]
  notifier.memberLeft(user('ben'))
  expect((await eventsWithin(20, events)).filter((each) => each.startsWith('ben')).at(-1)).toBe(
    'ben total 2',
  )
})
