import { expect, test } from 'vitest'
import { eventsWithin, openNotifier, row, timeout, timesWithin, user } from './unread-fixture.ts'

test.each([
  [['channel 37'], 15],
  [['channel 3', 'channel 37', 'channel 60', 'channel 90'], 15],
  [Array.from({ length: 8 }, (_, index) => `channel ${12 * index}`), 20],
])('channels that shared a statement with %j are sent soon', async (slow, seconds) => {
  const names = Array.from({ length: 100 }, (_, index) => `channel ${index}`)
  const { notifier, database, events } = openNotifier(...names.map((name) => row('ben', name, 1)))
  notifier.recheck(1)
  await eventsWithin(1, events)
  database.rows = names.map((name) => row('ben', name, 2, 2))
  database.timeoutMs = 4_000
  database.onStatement = (keys) => {
    if (slow.some((each) => keys.includes(each))) throw timeout()
  }
  for (const name of names) notifier.markDirty(name, { offset: 2, author: 'ana' })
  const times = await timesWithin(seconds, events)
  const late = names.filter((name) => !times.has(`ben ${name} 2`))
  expect(late).toEqual(slow)
})

test('a slow channel is not counted more often when many write in it', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'c', 1))
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
    await events()
  }
  // Once it is known to be slow, for all nodes, which is tried again after a minute; then quickly,
  // and then with more time, for this node, which is tried again eight seconds after each end.
  const seconds = countedAt.map((at) => Math.floor(at - began))
  expect(seconds).toEqual([0, 4, 8, 9, 21, 33, 46, 58, 68, 70, 82, 95, 107])
  database.onStatement = () => {}
  expect(await eventsWithin(60, events)).toEqual(['ben c 1', 'ben total 1'])
})

test('a quick channel of a statement that took too long does not wait for slow ones', async () => {
  const slow = ['one', 'two', 'three', 'four', 'five', 'six', 'late']
  const { notifier, database, events } = openNotifier(...slow.map((name) => row('ben', name, 1)))
  database.timeoutMs = 4_000
  database.onStatement = (keys) => {
    if (slow.some((each) => keys.includes(each))) throw timeout()
  }
  for (const name of slow.slice(0, 6)) notifier.markDirty(name, { offset: 1, author: 'ana' })
  await eventsWithin(9, events)
  database.rows.push(row('ben', 'quick', 2))
  for (const name of ['late', 'quick']) notifier.markDirty(name, { offset: 1, author: 'ana' })
  expect(await eventsWithin(10, events)).toContain('ben quick 2')
})

test('a channel that is too slow for the users of all nodes is tried once a minute', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'c', 1))
  database.timeoutMs = 4_000
  let tries = 0
  database.onStatement = (keys, isOwn) => {
    if (isOwn || !keys.includes('c')) return
    tries += 1
    throw timeout()
  }
  const sent: string[] = []
  for (let offset = 1; offset < 440; offset++) {
    database.rows = [row('ben', 'c', offset, offset)]
    notifier.markDirty('c', { offset, author: 'ana' })
    sent.push(...(await events()))
  }
  // It is tried with the others, once more, and a minute later. Users here get counts meanwhile.
  expect(tries).toBe(3)
  expect(sent.filter((each) => each.startsWith('ben c')).length).toBeGreaterThan(350)
})

test('a user whose counts were slow once is loaded once more, and not again', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  database.timeoutMs = 4_000
  database.onStatement = () => {
    throw timeout()
  }
  notifier.memberLeft(user('ben'))
  await eventsWithin(20, events)
  database.onStatement = () => {}
  expect(await eventsWithin(30, events)).toContain('ben total 1')
  const { statements } = database
  await eventsWithin(30, events)
  expect(database.statements).toBe(statements)
})
