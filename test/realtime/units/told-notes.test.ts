import { countsNotes } from '@parley/server/realtime/received-counts'
import { type Told, toldBy, toldNotes } from '@parley/server/realtime/told-notes'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { appId } from '../hub/fixture.ts'
import { tellerOf, told } from './fanout.ts'

test('the users of another node come in notes that fit into a payload', () => {
  const userIds = upTo(60).map((n) => `${n}`.padStart(255, 'x'))
  const users = userIds.map((userId) => ({ nodeId: 'other', appId, userId }))
  const { news } = told('Ben', tellerOf('node'))
  const notes = toldNotes([{ news, users }])
  expect(notes.flatMap(toldBy).flatMap((each) => each.userIds)).toEqual(userIds)
  expect(notes).toHaveLength(3)
  const rows = users.map((user) => ({ ...user, channelId: 'one', count: 1, version: 2 }))
  const counted = countsNotes(rows, () => ({ offset: 3, author: null, isDeletion: false }))
  expect(counted.flatMap(({ channels }) => channels.flatMap(({ users }) => users))).toHaveLength(60)
  for (const note of [...notes, ...counted]) expect(JSON.stringify(note).length).toBeLessThan(7_800)
})

/** So many users in ten channels of a hundred each: who is told of each of them on another node. */
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
      news: told(`user${user}`, tellerOf('node', user)).news,
      users: coMembers.map((userId) => ({ nodeId: 'other', appId, userId })),
    }
  })
}
const bytesOfAll = (notes: object[]) =>
  notes.reduce((sum, note) => sum + JSON.stringify(note).length, 0)

test('news that come at once share notes, and tell each user what concerns them', () => {
  const all = arrivals(400)
  const notes = toldNotes(all)
  const alone = all.flatMap((one) => toldNotes([one]))
  expect(bytesOfAll(notes)).toBeLessThan(bytesOfAll(alone) / 3)
  for (const note of notes) expect(JSON.stringify(note).length).toBeLessThan(64_000)
  const toldTo = (told: Told[], number: number) =>
    told.flatMap(({ news, userIds }) => (news.teller?.number === number ? userIds : []))
  for (const number of [0, 99, 100, 399])
    expect(toldTo(notes.flatMap(toldBy), number).sort()).toEqual(
      all[number]?.users.map(({ userId }) => userId).sort(),
    )
})

test('notes have a bound, however different what their users are told is', () => {
  const users = Array.from({ length: 2_000 }, (_, number) => number + 1)
  const all = upTo(11).map((place) => ({
    news: told(`${place}`, tellerOf('node', place)).news,
    users: users.flatMap((number) =>
      ((number >> (place - 1)) & 1) === 1
        ? [{ nodeId: 'other', appId, userId: `user${number}` }]
        : [],
    ),
  }))
  const notes = toldNotes(all)
  expect(notes.flatMap(toldBy).flatMap(({ userIds }) => userIds)).toHaveLength(
    all.reduce((sum, each) => sum + each.users.length, 0),
  )
  for (const note of notes) expect(JSON.stringify(note).length).toBeLessThan(10_000)
})

test('large news share notes of a bound, and those that are larger come alone', () => {
  const users = [{ nodeId: 'other', appId, userId: 'ana' }]
  const all = upTo(60).map((number) => ({
    news: told('x'.repeat(number === 7 ? 90_000 : 6_000), tellerOf('node', number)).news,
    users,
  }))
  const notes = toldNotes(all)
  const numbers = notes.flatMap(toldBy).map(({ news, userIds }) => [news.teller?.number, userIds])
  expect(numbers).toEqual(upTo(60).map((number) => [number, ['ana']]))
  const [largest = 0, ...others] = notes
    .map((note) => JSON.stringify(note).length)
    .sort((one, other) => other - one)
  expect(largest).toBeLessThan(91_000)
  expect(others).toHaveLength(8)
  expect(Math.max(...others)).toBeLessThan(51_000)
})
