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
