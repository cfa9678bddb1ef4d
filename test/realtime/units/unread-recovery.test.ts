import { expect, test } from 'vitest'
import { eventsWithin, openNotifier, row, timeout, timesWithin, user } from './unread-fixture.ts'

const namesOf = (kind: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${kind} ${index}`)

/** A notifier with users who are alone in a channel each. The database answers nothing in time. */
function openSlow(count: number) {
  const users = namesOf('user', count)
  const channels = namesOf('channel', count)
  const rowsWith = (unread: number, version: number) =>
    users.map((name, index) => row(name, channels[index] ?? '', unread, version))
  const opened = openNotifier(...rowsWith(1, 1))
  const { sessions, database } = opened
  for (const session of sessions.of(user('ana')))
    for (const userId of users) sessions.add({ ...session, userId })
  database.timeoutMs = 4_000
  database.onStatement = () => {
    throw timeout()
  }
  return { ...opened, users, channels, rowsWith }
}

test.each([
  [1, 110],
  [40, 150],
  [500, 150],
])(
  'after a time in which every statement took too long, %i counts are right within 15 s',
  async (count, slowSeconds) => {
    const { notifier, database, events, users, channels, rowsWith } = openSlow(count)
    for (let seconds = 0; seconds < slowSeconds; seconds += 10) {
      for (const name of channels) notifier.markDirty(name, { offset: seconds + 1, author: 'ana' })
      expect(await eventsWithin(10, events)).toEqual([])
    }
    database.onStatement = () => {}
    database.rows = rowsWith(7, 200)
    const times = await timesWithin(60, events)
    const late = users.flatMap((name, index) => [`${name} ${channels[index]} 7`, `${name} total 7`])
    expect(late.filter((each) => (times.get(each) ?? 99) > 15)).toEqual([])
  },
)

test('users who left a channel while statements were slow get the total within 15 s', async () => {
  const { notifier, database, events, users, rowsWith } = openSlow(40)
  for (const name of users) notifier.memberLeft(user(name))
  expect(await eventsWithin(150, events)).toEqual([])
  database.onStatement = () => {}
  database.rows = rowsWith(7, 200)
  const times = await timesWithin(60, events)
  expect(users.filter((name) => (times.get(`${name} total 7`) ?? 99) > 15)).toEqual([])
})

test.each([
  ['is slow', timeout],
  ['is away', () => new Error('connection lost')],
])('reads that were missed are looked for however long the database %s', async (_, error) => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  database.timeoutMs = 4_000
  database.onStatement = () => {
    throw error()
  }
  const began = performance.now()
  notifier.recheck(20)
  await eventsWithin(50, events)
  notifier.memberLeft(user('ben'))
  await eventsWithin(50, events)
  const searched: number[] = []
  database.onStatement = (keys, _, seconds) => {
    if (keys.includes('ben')) searched.push(seconds)
  }
  await eventsWithin(30, events)
  expect(Math.max(...searched)).toBeGreaterThan(20 + 100)
  expect(Math.max(...searched)).toBeLessThan(20 + (performance.now() - began) / 1_000)
})

test('any number of users whose counts are slow do not delay counts of others', async () => {
  const { notifier, database, events, users } = openSlow(1_900)
  database.rows.push(row('ben', 'one', 3, 9))
  database.onStatement = () => {}
  notifier.memberLeft(user('ben'))
  await eventsWithin(1, events)
  // A few of them are loaded in time, and two hundred are not.
  database.onStatement = (keys) => {
    if (keys.filter((key) => key.startsWith('user')).length > 20) throw timeout()
  }
  notifier.handleChanges([{ channelId: 'channel 0', offset: 5 }])
  await eventsWithin(1, events)
  notifier.recordCount(user('ben'), { channelId: 'one', count: 3, version: 9, snapshot: 0 })
  const times = await timesWithin(60, events)
  expect(times.get('ben total 3') ?? 99).toBeLessThan(15)
  expect(users.filter((name) => (times.get(`${name} total 1`) ?? 99) > 15)).toEqual([])
})

test('statements that are slow now and then, not in a row, put off no other user', async () => {
  const { notifier, database, events } = openSlow(800)
  let statement = 0
  database.onStatement = () => {
    statement += 1
    if (statement === 1 || statement === 3) throw timeout()
  }
  database.timeoutMs = 0
  notifier.recheck(1)
  await events()
  // All of them: 803 users, 200 a statement.
  expect(database.statements).toBe(5)
})

test('a user whose counts took too long is not loaded any more once they have left', async () => {
  const { notifier, database, sessions, events } = openNotifier(row('ben', 'one', 1))
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw timeout()
  }
  notifier.memberLeft(user('ben'))
  await eventsWithin(3, events)
  for (const session of sessions.of(user('ben'))) sessions.remove(session)
  const before = database.statements
  await eventsWithin(60, events)
  expect(database.statements).toBe(before)
})
