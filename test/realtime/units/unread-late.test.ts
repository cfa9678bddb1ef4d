import { expect, test } from 'vitest'
import { cutShort, newsWithin, openNotifier, row, timeout, user } from './unread-fixture.ts'

test.each([
  ['took too long', timeout],
  ['were cut short by a full pool', cutShort],
])('a user whose counts %s is sent no total of those that happen to be known', async (_, error) => {
  const { notifier, database, news } = openNotifier(row('ben', 'one', 0, 2), row('ben', 'two', 5))
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw error()
  }
  notifier.recordCount(user('ben'), { channelId: 'one', count: 0, version: 2 })
  expect(await newsWithin(30, news)).toEqual([])
  database.rows = [row('ben', 'one', 1, 3), row('ben', 'two', 5)]
  notifier.markDirty('one', { offset: 9, author: 'ana' })
  expect(await newsWithin(3, news)).toEqual(['ben one 1'])
  database.onStatement = () => {}
  expect(await newsWithin(60, news)).toEqual(['ben total 6'])
})

/** A notifier with these users, to whose channel ana has written. */
function openCrowd(names: string[]) {
  const opened = openNotifier(...names.map((name) => row(name, 'one', 1)))
  for (const session of opened.sessions.of(user('ana')))
    for (const userId of names) opened.sessions.add({ ...session, userId })
  return opened
}
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `user ${index}`)

test('a count is sent however long it takes to load those of the other users', async () => {
  const names = namesOf(450)
  const { notifier, database, news } = openCrowd(names)
  database.readMs = (keys) => (keys.length > 1 ? 15_000 : 0)
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  const told = await newsWithin(60, news)
  expect(told.filter((each) => each.endsWith('one 1'))).toEqual(
    names.map((name) => `${name} one 1`),
  )
})

test('a count is sent if loading those of other users fails in between', async () => {
  const names = namesOf(450)
  const { notifier, database, news } = openCrowd(names)
  database.readMs = (keys) => (keys.length > 1 ? 15_000 : 0)
  database.onStatement = (keys) => {
    if (keys.includes('user 449')) throw new Error('connection lost')
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  expect(await newsWithin(60, news)).toEqual([])
  database.onStatement = () => {}
  const told = await newsWithin(30, news)
  expect(told.filter((each) => each.endsWith('one 1'))).toEqual(
    names.map((name) => `${name} one 1`),
  )
})

test('a count that took long is sent to a user whose counts were loaded meanwhile', async () => {
  const { notifier, database, news } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 1))
  database.onStatement = (keys) => {
    if (keys.includes('one')) throw timeout()
  }
  notifier.markDirty('one', { offset: 1, author: 'ana' })
  notifier.markDirty('two', { offset: 1, author: 'ana' })
  expect(await newsWithin(30, news)).toEqual(['ben two 1', 'ben total 2'])
  database.onStatement = () => {}
  expect(await newsWithin(60, news)).toEqual(['ben one 1', 'ben total 2'])
})
