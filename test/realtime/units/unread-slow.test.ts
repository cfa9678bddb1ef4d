import { expect, test } from 'vitest'
import { pass } from '../hub/fixture.ts'
import {
  cutShort,
  eventsWithin,
  openNotifier,
  PAUSE_MS,
  row,
  timeout,
  user,
} from './unread-fixture.ts'

test('a channel that takes too long to count does not delay others', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const rows = names.map((name) => row('ben', name, 1))
  const { notifier, database, events, problems } = openNotifier(...rows)
  notifier.markDirty('a', { offset: 1 })
  await events()
  database.onStatement = (keys) => {
    if (keys.includes('c')) throw timeout()
  }
  for (const name of names) notifier.markDirty(name, { offset: 2, author: 'ana' })
  const sent: string[] = []
  for (let run = 0; run < 4; run++) sent.push(...(await events()))
  expect(sent.filter((each) => !each.includes('total')).sort()).toEqual([
    'ben b 1',
    'ben d 1',
    'ben e 1',
  ])
  // Once for the users of all nodes, and once for those of this one.
  expect(problems).toEqual(['unread count failed', 'unread count failed'])
  // Others are counted at once while it fails, and it is counted alone, with pauses that grow.
  const counted = () => database.keys.splice(0).map((keys) => keys.join())
  counted()
  const attempts: string[] = []
  for (let offset = 3; offset < 43; offset++) {
    database.rows = names.map((name) => row('ben', name, offset))
    for (const name of ['b', 'c']) notifier.markDirty(name, { offset, author: 'ana' })
    expect(await events()).toEqual([`ben b ${offset}`, `ben total ${offset + 4}`])
    attempts.push(...counted())
  }
  expect(attempts.filter((keys) => keys === 'b')).toHaveLength(40)
  // It is left out for 8 s, and then counted for this node, with all that happened meanwhile.
  expect(attempts.filter((keys) => keys === 'c')).toHaveLength(1)
})

test('a channel too slow to count for all nodes is counted for those of this node', async () => {
  const elsewhere = { ...row('dan', 'c', 7), nodeId: 'other' }
  const { notifier, database, events, notes } = openNotifier(row('ben', 'c', 1), elsewhere)
  database.onStatement = (keys, isOwn) => {
    if (keys.includes('c') && !isOwn) throw timeout()
  }
  const count = async (offset: number) => {
    notifier.markDirty('c', { offset, author: 'ana' })
    const sent = await eventsWithin(2, events)
    return sent.filter((each) => each.startsWith('ben'))
  }
  expect([await count(1), notes]).toEqual([['ben c 1', 'ben total 1'], []])
  // It is tried for all nodes a minute later, and once that works, with the others again.
  await eventsWithin(60, events)
  database.onStatement = () => {}
  database.rows = [row('ben', 'c', 2), elsewhere]
  expect([await count(2), notes.length]).toEqual([['ben c 2', 'ben total 2'], 1])
  notifier.markDirty('c', { offset: 3, author: 'ana' })
  notifier.markDirty('d', { offset: 1, author: 'ana' })
  await events()
  expect(database.keys.at(-1)).toEqual(['c', 'd'])
})

test('a change that took too long to count is sent later, without a comparison', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'c', 1))
  const countedAt: number[] = []
  database.onStatement = (keys, isOwn) => {
    if (!keys.includes('c')) return
    if (isOwn) countedAt.push(performance.now() / 1_000)
    throw timeout()
  }
  notifier.markDirty('c', { offset: 5, author: 'ana' })
  expect(await eventsWithin(150, events)).toEqual([])
  const pauses = countedAt.slice(1).map((at, index) => Math.round(at - (countedAt[index] ?? 0)))
  expect(pauses).toEqual([0, ...Array.from({ length: 18 }, () => 8)])
  // From here on a full pool has no time for it: it is tried as often as at first.
  let tries = 0
  database.onStatement = (keys) => {
    if (!keys.includes('c')) return
    tries += 1
    throw cutShort()
  }
  await eventsWithin(100, events)
  expect(tries).toBeGreaterThan(3)
  database.onStatement = () => {}
  expect(await eventsWithin(15, events)).toEqual(['ben c 1', 'ben total 1'])
})

test('a user whose counts take too long to load does not delay others', async () => {
  const names = ['ana', 'ben', 'cem']
  const elsewhere = { ...row('dan', 'one', 1), nodeId: 'other' }
  const rows = names.flatMap((name) => [row(name, 'one', 1), row(name, 'two', 1)])
  const { notifier, database, events, notes, problems } = openNotifier(...rows, elsewhere)
  database.onStatement = (keys) => {
    if (keys.includes('cem')) throw timeout()
  }
  notifier.markDirty('one', { offset: 1 })
  // Only the totals wait, until it is known whose counts are slow.
  expect(await events()).toEqual(['ana one 1', 'ben one 1', 'cem one 1'])
  expect(await events()).toEqual(['ana total 2', 'ben total 2'])
  // The channel is not to blame: it was counted once.
  expect(database.keys.filter(([key]) => key === 'one')).toHaveLength(1)
  expect([notes.length, problems]).toEqual([1, ['unread counts of a user took too long']])
  const loads = () => database.keys.filter((keys) => keys.includes('cem')).length
  const before = loads()
  notifier.markDirty('two', { offset: 1 })
  notifier.receive({
    kind: 'counts',
    node: 'node',
    channels: [
      {
        ...{ appId: user('cem').appId, channelId: 'two', offset: 2, author: null },
        ...{ isDeletion: false, users: [['cem', 1, 1]] },
      },
    ],
  })
  notifier.memberLeft(user('cem'))
  notifier.recheck(1)
  await events()
  expect([loads(), problems.length]).toEqual([before, 1])
  database.onStatement = () => {}
  await pass(8_000)
  notifier.recheck(1)
  expect((await events()).filter((each) => each.startsWith('cem'))).toContain('cem total 2')
})

test('a user who leaves two channels, one during a slow load, gets the last total', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 2))
  notifier.markDirty('one', { offset: 1 })
  expect(await events()).toContain('ben total 3')
  database.rows = [row('ben', 'one', 1)]
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw timeout()
  }
  notifier.memberLeft(user('ben'))
  expect(await events()).toEqual([])
  // Still too long: it is tried once more.
  expect(await events(8_000 + PAUSE_MS)).toEqual([])
  const before = database.statements
  expect(await events(7_000)).toEqual([])
  expect(database.statements).toBe(before)
  database.onStatement = () => {}
  database.readMs = () => 400
  database.afterStatement = () => {
    database.rows = [row('ben', 'one', 4)]
    notifier.memberLeft(user('ben'))
  }
  expect(await eventsWithin(20, events)).toEqual(['ben total 1', 'ben one 4', 'ben total 4'])
})

test('a user whose counts took too long is sent no total that they know already', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 2))
  notifier.markDirty('one', { offset: 1 })
  expect(await events()).toContain('ben total 3')
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw timeout()
  }
  notifier.recheck(1)
  expect(await events()).toEqual([])
  database.onStatement = () => {}
  const ofBen = async () =>
    (await eventsWithin(30, events)).filter((each) => each.startsWith('ben'))
  expect(await ofBen()).toEqual([])
  // A total that is owed is still sent: the client of a user who left may show another one.
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw timeout()
  }
  notifier.memberLeft(user('ben'))
  expect(await events()).toEqual([])
  database.onStatement = () => {}
  expect(await ofBen()).toEqual(['ben total 3'])
})

test('a user whose counts a full pool cut short, however often, gets them in 15 s', async () => {
  const { notifier, database, events, problems } = openNotifier(row('ben', 'one', 1))
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw cutShort()
  }
  notifier.memberLeft(user('ben'))
  expect(await eventsWithin(70, events)).toEqual([])
  expect(problems).not.toHaveLength(0)
  database.onStatement = () => {}
  expect(await eventsWithin(15, events)).toContain('ben total 1')
})

test('a user whose counts always take too long is tried every eight seconds', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  const triedAt: number[] = []
  const began = performance.now()
  database.onStatement = (keys) => {
    if (!keys.includes('ben')) return
    triedAt.push(performance.now() - began)
    throw timeout()
  }
  notifier.memberLeft(user('ben'))
  await eventsWithin(200, events)
  const pauses = triedAt.slice(1).map((at, index) => (at - (triedAt[index] ?? 0)) / 1_000)
  expect(pauses.map(Math.round)).toEqual([0, ...Array.from({ length: 24 }, () => 8)])
  database.onStatement = () => {}
  expect(await eventsWithin(60, events)).toContain('ben total 1')
  database.onStatement = (keys) => {
    if (keys.includes('ben')) throw timeout()
  }
  notifier.memberLeft(user('ben'))
  await events()
  database.onStatement = () => {}
  database.rows = [row('ben', 'one', 2)]
  expect(await eventsWithin(9, events)).toContain('ben total 2')
})

test('a database that is slow for every user is not asked for each of them', async () => {
  const names = Array.from({ length: 450 }, (_, index) => `user ${index}`)
  const { notifier, database, sessions, events, problems } = openNotifier()
  for (const session of sessions.of(user('ana')))
    for (const userId of names) sessions.add({ ...session, userId })
  database.onStatement = () => {
    throw timeout()
  }
  notifier.recheck(1)
  await events()
  expect([database.statements, problems]).toEqual([2, []])
  // Then four pieces of them.
  await events()
  expect([database.statements, problems]).toEqual([6, ['unread count failed']])
  await eventsWithin(60, events)
  expect(database.statements).toBeLessThan(50)
})

test('one statement that takes too long does not keep a run from its other work', async () => {
  const names = Array.from({ length: 450 }, (_, index) => `channel ${index}`)
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1))
  notifier.recordTotal(user('ben'), 0)
  notifier.recheck(1)
  await events()
  database.onStatement = (keys) => {
    if (keys.length > 1 && keys.some((key) => key.startsWith('channel'))) throw timeout()
  }
  for (const name of names) notifier.markDirty(name, { offset: 1 })
  notifier.recordTotal(user('ben'), 5)
  const before = database.statements
  expect(await events()).toEqual(['ben total 1'])
  expect(database.statements).toBe(before + 1)
  await pass(PAUSE_MS)
})
