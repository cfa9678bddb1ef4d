import type { CountsNote } from '@parley/server/realtime/broker/index'
import { expect, test } from 'vitest'
import { appId, pass } from '../hub/fixture.ts'
import { openNotifier, PAUSE_MS, row, user } from './unread-fixture.ts'

const elsewhere = (userId: string, channelId: string, count: number) => ({
  ...row(userId, channelId, count),
  nodeId: 'other',
})

test('a channel is counted once for all nodes, and each gets the counts of its users', async () => {
  const rows = [row('ben', 'one', 1), elsewhere('dan', 'one', 2), elsewhere('eve', 'one', 3)]
  const { notifier, database, notes, events } = openNotifier(...rows)
  notifier.markDirty('one', { offset: 4, author: 'ana' })
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  const counted = { appId, channelId: 'one', offset: 4, author: 'ana', isDeletion: false }
  const users = [
    ['dan', 2, 0],
    ['eve', 3, 0],
  ]
  const channels = [{ ...counted, users }]
  expect(notes).toEqual([{ kind: 'counts', node: 'other', snapshot: 0, channels }])
  expect(database.keys.filter(([key]) => key === 'one')).toHaveLength(1)
})

/** A note of another node about these counts of ben. */
const countsOfBen = (...counts: [channelId: string, count: number, version: number][]) => ({
  kind: 'counts' as const,
  node: 'node',
  channels: counts.map(([channelId, count, version]) => ({
    ...{ appId, channelId, offset: version, author: null, isDeletion: false },
    users: [['ben', count, version] as [string, number, number]],
  })),
})

test('counts of another node are sent without a statement, once all are loaded', async () => {
  const { notifier, database, events } = openNotifier(
    row('ben', 'one', 1, 1),
    row('ben', 'two', 2, 1),
  )
  await pass(PAUSE_MS)
  notifier.receive(countsOfBen(['one', 1, 1]))
  expect(await events()).toEqual(['ben one 1', 'ben total 3'])
  const before = database.statements
  notifier.receive(countsOfBen(['one', 1, 1], ['two', 4, 8]))
  notifier.receive(countsOfBen(['one', 2, 2], ['two', 5, 9]))
  // An older one of a node that is slower.
  notifier.receive(countsOfBen(['two', 4, 8]))
  expect(await events()).toEqual(['ben one 2', 'ben two 5', 'ben total 7'])
  notifier.receive(countsOfBen(['one', 1, 1], ['two', 4, 8]))
  expect(await events()).toEqual([])
  expect(database.statements).toBe(before)
})

test('a count that another node read before the user left does not stay', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1), row('ben', 'two', 2))
  notifier.receive(countsOfBen(['one', 1, 0]))
  expect(await events()).toEqual(['ben one 1', 'ben total 3'])
  database.rows = [row('ben', 'two', 2)]
  notifier.memberLeft(user('ben'))
  expect((await events()).at(-1)).toBe('ben total 2')
  notifier.receive(countsOfBen(['one', 7, 9]))
  expect((await events()).at(-1)).toBe('ben total 2')
  // A count of a channel that the user has joined stays.
  database.rows = [row('ben', 'two', 2), row('ben', 'three', 4, 9)]
  notifier.receive(countsOfBen(['three', 3, 8]))
  const sent = await events()
  expect([sent.includes('ben three 4'), sent.at(-1)]).toEqual([true, 'ben total 6'])
})

test('channels counted by another node, or without users here, are not counted again', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 5))
  notifier.receive(countsOfBen(['one', 1, 5]))
  // All counts of all users are known.
  notifier.recheck(1)
  await events()
  const before = database.statements
  notifier.handleChanges([
    { channelId: 'one', offset: 5 },
    { channelId: 'other', offset: 9 },
  ])
  expect([await events(), database.statements]).toEqual([[], before])
  database.rows = [row('ben', 'one', 2, 6)]
  notifier.handleChanges([{ channelId: 'one', offset: 6 }])
  expect(await events()).toEqual(['ben one 2', 'ben total 2'])
  // Users who connect after a change load counts that include it.
  const early = openNotifier(row('ben', 'one', 1))
  const sessions = ['ana', 'ben', 'cem'].flatMap((name) => early.sessions.of(user(name)))
  for (const session of sessions) early.sessions.remove(session)
  early.notifier.handleChanges([{ channelId: 'one', offset: 1 }])
  for (const session of sessions) early.sessions.add(session)
  early.notifier.handleChanges([{ channelId: 'one', offset: 1 }])
  expect([await early.events(), early.database.statements]).toEqual([[], 0])
  const unknown = openNotifier(row('ben', 'one', 1))
  unknown.notifier.handleChanges([{ channelId: 'one', offset: 1 }])
  expect(await unknown.events()).toEqual(['ben one 1', 'ben total 1'])
})

test('a channel without members here is not counted, whoever received counts before', async () => {
  const { notifier, database, sessions, events } = openNotifier(row('ben', 'one', 1))
  const foreign = { channelId: 'foreign', offset: 9 }
  notifier.handleChanges([foreign, { channelId: 'one', offset: 1 }])
  expect(await events()).toEqual(['ben one 1', 'ben total 1'])
  // The users who were not known before are looked up, once.
  expect(database.keys).toEqual([['ana', 'ben', 'cem'], ['one']])
  notifier.handleChanges([{ ...foreign, offset: 10 }])
  expect([await events(), database.statements]).toEqual([[], 2])
  // More users than are looked up at a time.
  for (const session of sessions.of(user('ana')))
    for (const index of Array(2_001).keys()) sessions.add({ ...session, userId: `new ${index}` })
  notifier.handleChanges([{ ...foreign, offset: 11 }])
  await events()
  expect(database.keys.slice(2).map(({ length }) => length)).toEqual([...Array(10).fill(200), 1])
  expect(database.keys.at(-1)).toEqual(['foreign'])
  database.failure = new Error('no database')
  notifier.handleChanges([{ channelId: 'one', offset: 2 }])
  await events()
  database.failure = undefined
  database.rows = [row('ben', 'one', 2, 1)]
  await pass(1_000)
  expect(await events()).toEqual(['ben one 2', 'ben total 2'])
})

test('a node that stops counts the last changes, if other nodes may need the counts', async () => {
  const { notifier, database, notes } = openNotifier(elsewhere('dan', 'one', 1))
  notifier.markDirty('one', { offset: 1 })
  notifier.memberLeft(user('ben'))
  await notifier.stop()
  expect(notes.map(({ node }) => node)).toEqual(['other'])
  await pass(10_000)
  expect(database.statements).toBe(1)
  const alone = openNotifier(row('ben', 'one', 1))
  alone.database.hasReceivers = false
  alone.notifier.markDirty('one', { offset: 1 })
  expect([await alone.events(), alone.database.statements]).toEqual([[], 0])
})

test('a channel that is busy on two nodes is counted by one of them at a time', async () => {
  const { notifier, database, notes, events } = openNotifier(
    row('ben', 'one', 1, 1),
    elsewhere('dan', 'one', 1),
  )
  const counted = (offset: number, change: object = {}) => {
    const note = countsOfBen(['one', 1, offset])
    return { ...note, channels: note.channels.map((channel) => ({ ...channel, ...change })) }
  }
  const counting = () => database.keys.filter(([key]) => key === 'one').length
  notifier.receive(counted(1))
  await events()
  // A change that another node has counted is not counted here.
  notifier.markDirty('one', { offset: 2, author: 'ana' })
  notifier.receive(counted(2))
  await events()
  expect([counting(), notes]).toEqual([0, []])
  // A change that it has not counted waits for its next count, once.
  notifier.markDirty('one', { offset: 4, author: 'ana' })
  notifier.receive(counted(3))
  await events(PAUSE_MS - 1)
  expect(counting()).toBe(0)
  // The wait ends even if the other node counts an older offset again and again.
  for (const _ of Array(10)) {
    notifier.receive(counted(3))
    await events(PAUSE_MS / 2)
  }
  expect(counting()).toBe(1)
  // The other node can leave it to this count, even if others have written there.
  expect(notes.flatMap(({ channels }) => channels)).toMatchObject([{ offset: 4, author: null }])
})

test('a count of another node replaces none for another author or for a deletion', async () => {
  const { notifier, database, events } = openNotifier(row('ben', 'one', 1, 1))
  const [{ channels: [read] = [] }] = [countsOfBen(['one', 1, 5])]
  const of = (change: object) =>
    ({ kind: 'counts', node: 'node', channels: [{ ...read, ...change }] }) as CountsNote
  const counting = () => database.keys.filter(([key]) => key === 'one').length
  for (const [change, event] of [
    [{ author: 'cem' }, { author: 'ana' }],
    [{ author: 'ana' }, { author: 'ana', isDeletion: true }],
    [{ offset: 3 }, {}],
  ]) {
    const before = counting()
    notifier.markDirty('one', { offset: 5, ...event })
    notifier.receive(of(change ?? {}))
    for (const _ of Array(3)) await events()
    expect(counting()).toBe(before + 1)
  }
})
