import { fanoutNotes, fanoutsIn, type NodeFanout } from '@parley/server/realtime/fanout/notes'
import { countsNotes } from '@parley/server/realtime/unread/received-counts'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { appId } from '../hub/fixture.ts'
import { announcerOf, fanoutOf } from './fanout.ts'

test('the users of another node come in notes that fit into a payload', () => {
  const userIds = upTo(60).map((n) => `${n}`.padStart(255, 'x'))
  const users = userIds.map((userId) => ({ nodeId: 'other', appId, userId }))
  const { fanout } = fanoutOf('Ben', announcerOf('node'))
  const notes = fanoutNotes([{ fanout, users }])
  expect(notes.flatMap(fanoutsIn).flatMap((each) => each.userIds)).toEqual(userIds)
  expect(notes).toHaveLength(3)
  const counts = { channelId: 'one', count: 1, version: 2, snapshot: Number.MAX_SAFE_INTEGER }
  const rows = users.map((user) => ({ ...user, ...counts }))
  const counted = countsNotes(rows, () => ({ offset: 3, author: null, isDeletion: false }))
  expect(counted.flatMap(({ channels }) => channels.flatMap(({ users }) => users))).toHaveLength(60)
  for (const note of [...notes, ...counted]) expect(JSON.stringify(note).length).toBeLessThan(7_800)
})

test('the counts of one user in many channels come in notes that fit into a payload', () => {
  const rows = upTo(200).map((n) => {
    const channelId = `${n}`.padStart(36, '0')
    const count = { count: n, version: n, snapshot: Number.MAX_SAFE_INTEGER }
    return { nodeId: 'other', appId, userId: 'ben', channelId, ...count }
  })
  const notes = countsNotes(rows, () => ({ offset: 3, author: 'ana', isDeletion: false }))
  const counts = notes.flatMap(({ channels }) => channels.flatMap(({ users }) => users))
  expect(counts).toEqual(upTo(200).map((n) => ['ben', n, n]))
  for (const note of notes) expect(JSON.stringify(note).length).toBeLessThan(7_800)
})

/** Users in ten channels of a hundred each, and their co-members on another node. */
function arrivals(count: number) {
  const channels = Array.from({ length: count / 10 }, (): string[] => [])
  const channelsOf = (user: number) =>
    upTo(10).flatMap((index) => [channels[(user + index * 37) % channels.length] ?? []])
  const users = Array.from({ length: count }, (_, user) => user)
  for (const user of users) {
    for (const members of channelsOf(user)) members.push(`user${user}`)
  }
  return users.map((user) => {
    const coMembers = [...new Set(channelsOf(user).flat())].filter((id) => /[13579]$/.test(id))
    return {
      fanout: fanoutOf(`user${user}`, announcerOf('node', user)).fanout,
      users: coMembers.map((userId) => ({ nodeId: 'other', appId, userId })),
    }
  })
}
const bytesOfAll = (notes: object[]) =>
  notes.reduce((sum, note) => sum + JSON.stringify(note).length, 0)

test('changes that come at once share notes, and each user gets their own', () => {
  const all = arrivals(400)
  const notes = fanoutNotes(all)
  const alone = all.flatMap((one) => fanoutNotes([one]))
  expect(bytesOfAll(notes)).toBeLessThan(bytesOfAll(alone) / 3)
  for (const note of notes) expect(JSON.stringify(note).length).toBeLessThan(64_000)
  const recipientsOf = (sent: NodeFanout[], number: number) =>
    sent.flatMap(({ fanout, userIds }) => (fanout.announcer?.number === number ? userIds : []))
  for (const number of [0, 99, 100, 399])
    expect(recipientsOf(notes.flatMap(fanoutsIn), number).sort()).toEqual(
      all[number]?.users.map(({ userId }) => userId).sort(),
    )
})

test('notes stay within a size, however different the changes of their users are', () => {
  const users = Array.from({ length: 2_000 }, (_, number) => number + 1)
  const all = upTo(11).map((place) => ({
    fanout: fanoutOf(`${place}`, announcerOf('node', place)).fanout,
    users: users.flatMap((number) =>
      ((number >> (place - 1)) & 1) === 1
        ? [{ nodeId: 'other', appId, userId: `user${number}` }]
        : [],
    ),
  }))
  const notes = fanoutNotes(all)
  expect(notes.flatMap(fanoutsIn).flatMap(({ userIds }) => userIds)).toHaveLength(
    all.reduce((sum, each) => sum + each.users.length, 0),
  )
  for (const note of notes) expect(JSON.stringify(note).length).toBeLessThan(10_000)
})

test('large changes share notes up to a size, and larger ones come alone', () => {
  const users = [{ nodeId: 'other', appId, userId: 'ana' }]
  const all = upTo(60).map((number) => ({
    fanout: fanoutOf('x'.repeat(number === 7 ? 90_000 : 6_000), announcerOf('node', number)).fanout,
    users,
  }))
  const notes = fanoutNotes(all)
  const numbers = notes
    .flatMap(fanoutsIn)
    .map(({ fanout, userIds }) => [fanout.announcer?.number, userIds])
  expect(numbers).toEqual(upTo(60).map((number) => [number, ['ana']]))
  const [largest = 0, ...others] = notes
    .map((note) => JSON.stringify(note).length)
    .sort((one, other) => other - one)
  expect(largest).toBeLessThan(91_000)
  expect(others).toHaveLength(8)
  expect(Math.max(...others)).toBeLessThan(51_000)
})

test('recipients of the same changes share notes, in whatever order they were found', () => {
  const users = upTo(1_200).map((n) => ({ nodeId: 'other', appId, userId: `user${n}` }))
  const [even, odd] = [0, 1].map((rest) => users.filter((_, index) => index % 2 === rest))
  const changes = ['Ben', 'Eve'].map((name, n) => fanoutOf(name, announcerOf('node', n)).fanout)
  const notesOf = (found: (typeof users | undefined)[]) =>
    fanoutNotes(changes.map((fanout, n) => ({ fanout, users: found[n] ?? [] })))
  const apart = notesOf([[...(even ?? []), ...(odd ?? [])], even])
  const mixed = notesOf([users, even])
  expect(apart.length).toBeGreaterThan(1)
  expect(mixed).toHaveLength(apart.length)
})
