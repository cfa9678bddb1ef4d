import { expect, test } from 'vitest'
import { newsWithin, openNotifier, row, timeout, timesWithin } from './unread-fixture.ts'

test.each([
  [['channel 37'], 15],
  [['channel 3', 'channel 37', 'channel 60', 'channel 90'], 40],
])('channels that shared a statement with %j are told soon', async (slow, seconds) => {
  const names = Array.from({ length: 100 }, (_, index) => `channel ${index}`)
  const { notifier, database, news } = openNotifier(...names.map((name) => row('ben', name, 1)))
  notifier.recheck(1)
  await newsWithin(1, news)
  database.rows = names.map((name) => row('ben', name, 2, 2))
  database.timeoutMs = 4_000
  database.onStatement = (keys) => {
    if (slow.some((each) => keys.includes(each))) throw timeout()
  }
  for (const name of names) notifier.markDirty(name, { offset: 2, author: 'ana' })
  const times = await timesWithin(seconds, news)
  const late = names.filter((name) => !times.has(`ben ${name} 2`))
  expect(late).toEqual(slow)
})

test('a slow channel in which many write is not counted more often for it', async () => {
  const { notifier, database, news } = openNotifier(row('ben', 'c', 1))
  database.timeoutMs = 4_000
  const countedAt: number[] = []
  database.onStatement = (keys) => {
    if (!keys.includes('c')) return
    countedAt.push(performance.now() / 1_000)
    throw timeout()
  }
  const began = performance.now() / 1_000
  for (let offset = 1; offset < 440; offset++) {
    notifier.markDirty('c', { offset, author: 'ana' })
    await news()
  }
  // Once it is known to be slow: for all nodes and for this one, after 5, 10, 20 and 40 s.
  const seconds = countedAt.map((at) => Math.floor(at - began))
  expect(seconds).toEqual([0, 4, 4, 8, 17, 21, 35, 39, 63, 67])
  database.onStatement = () => {}
  expect(await newsWithin(60, news)).toEqual(['ben c 1', 'ben total 1'])
})
