import { moveMarkers } from '@parley/server/features/markers'
import { selectCountsOfUsers } from '@parley/server/realtime/unread/counts'
import { expect, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { withoutCleanup } from './support/locks.ts'
import { forbidden, invalid, notFound, refusal } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

/** A channel of ana's with ben in it, in which ana has sent these texts. */
const talk = async (texts: string[], [ana, ben]: [User, User]) => {
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  const ids: string[] = []
  for (const text of texts) ids.push((await ana.messages.send({ channelId, text })).id)
  return { channelId, ids }
}
const stateOf = async (user: User, channelId: string) => {
  const { unreadCount, lastReadSeq } = await user.channels.get({ channelId })
  return { unreadCount, lastReadSeq }
}

test('reading a channel clears its unread count and stores a read mark', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId } = await talk(['one', 'two', 'three'], [ana, ben])
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 3, lastReadSeq: 0 })
  expect(await stateOf(ana, channelId)).toEqual({ unreadCount: 0, lastReadSeq: 3 })
  expect(await ben.reads.mark({ channelId })).toMatchObject({ success: true, lastReadSeq: 3 })
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 0, lastReadSeq: 3 })
  expect(await ben.reads.mark({ channelId })).toMatchObject({ success: true, lastReadSeq: 3 })
  // Ana had read what she sent: nothing moves, and there is no mark.
  expect(await ana.reads.mark({ channelId })).toMatchObject({ success: true, lastReadSeq: 3 })
  const marks = await world().db`
    select user_id, seq
    from read_marks
    where channel_id = ${channelId}`
  expect(marks).toEqual([{ userId: 'ben', seq: 3 }])
})

test('a new message says how far its author has read', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, ids } = await talk(['one', 'two'], [ana, ben])
  const send = ({ messages }: User) => messages.send({ channelId, text: 'more' })
  await send(ben)
  await ben.reads.mark({ channelId, messageId: ids[0] ?? '' })
  await send(ben)
  await ben.reads.mark({ channelId })
  await send(ben)
  await send(ana)
  const events = await channelEventsOf(world(), channelId)
  const positions = events.flatMap(({ type, payload }) =>
    type === 'message.new' ? [payload.authorLastReadSeq] : [],
  )
  // Ana has read up to 2; ben nothing, then 1, then everything.
  expect(positions).toEqual([1, 2, 0, 1, 5, 2])
  expect([
    (await stateOf(ana, channelId)).lastReadSeq,
    (await stateOf(ben, channelId)).lastReadSeq,
  ]).toEqual([2, 5])
})

test('marking a channel read needs no body', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId } = await talk(['one'], [ana, ben])
  expect(await rest(world(), ben)('POST', `/api/channels/${channelId}/read`)).toMatchObject({
    status: 200,
    body: { success: true, lastReadSeq: 1 },
  })
})

test('reading up to a message clears the count, and never moves back', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, ids } = await talk(['one', 'two', 'three'], [ana, ben])
  const mark = async (index: number) =>
    (await ben.reads.mark({ channelId, messageId: ids[index] ?? '' })).lastReadSeq
  expect(await mark(1)).toBe(2)
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 0, lastReadSeq: 2 })
  expect(await mark(0)).toBe(2)
  await ana.messages.delete({ channelId, messageId: ids[2] ?? '' })
  expect(await mark(2)).toBe(3)
  const marks = await world().db<{ seq: number }[]>`
    select seq
    from read_marks
    where channel_id = ${channelId} and user_id = 'ben'
    order by seq`
  expect(marks.map(({ seq }) => seq)).toEqual([2, 3])
  await ana.messages.send({ channelId, text: 'four' })
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 1, lastReadSeq: 3 })
})

test('the furthest of concurrent reads wins', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, ids } = await talk(Array.from({ length: 10 }, String), [ana, ben])
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      [...ids].reverse().map((messageId) => ben.reads.mark({ channelId, messageId })),
    )
    expect(Math.max(...answers.map(({ lastReadSeq }) => lastReadSeq))).toBe(10)
    expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 0, lastReadSeq: 10 })
  }
})

test("an author's own message counts as read if they had read everything before it", async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId } = await talk(['one'], [ana, ben])
  await ben.messages.send({ channelId, text: 'without looking' })
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 1, lastReadSeq: 0 })
  await ben.reads.mark({ channelId })
  await ben.messages.send({ channelId, text: 'having looked' })
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 0, lastReadSeq: 3 })
  expect(await stateOf(ana, channelId)).toEqual({ unreadCount: 2, lastReadSeq: 1 })
})

test('deleted messages and reactions do not count as unread, and replies do', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, ids } = await talk(['one', 'two'], [ana, ben])
  const [parentId = '', messageId = ''] = ids
  await ana.messages.send({ channelId, text: 'reply', parentId })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.messages.edit({ channelId, messageId, text: 'two, edited' })
  expect((await stateOf(ben, channelId)).unreadCount).toBe(3)
  await ana.messages.delete({ channelId, messageId })
  expect((await stateOf(ben, channelId)).unreadCount).toBe(2)
})

test('the total unread count is the sum over all channels, muted ones included', async () => {
  const [ana, ben] = await world().users('sum-ana', 'sum-ben')
  const left = await talk(['one', 'two'], [ana, ben])
  const right = await talk(['one'], [ana, ben])
  await ben.channels.updateSettings({ channelId: right.channelId, muted: true })
  expect(await ben.reads.unreadCount()).toEqual({ count: 3, version: expect.any(Number) })
  expect(await ana.reads.unreadCount()).toEqual({ count: 0, version: expect.any(Number) })
  await ben.reads.mark(left)
  expect(await stateOf(ben, right.channelId)).toEqual({ unreadCount: 1, lastReadSeq: 0 })
  expect(await ben.reads.unreadCount()).toEqual({ count: 1, version: expect.any(Number) })
  await ben.members.leave(right)
  expect(await ben.reads.unreadCount()).toEqual({ count: 0, version: expect.any(Number) })
})

test('the total unread count leaves out a deleted channel at once', async () => {
  const [ana, fred] = await world().users('ana', 'fred')
  const { channelId } = await talk(['one'], [ana, fred])
  await talk(['two', 'three'], [ana, fred])
  expect(await fred.reads.unreadCount()).toEqual({ count: 3, version: expect.any(Number) })
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId })
    expect(await fred.reads.unreadCount()).toEqual({ count: 2, version: expect.any(Number) })
  })
})

test('a deleted channel cannot be marked as read, although it still has members', async () => {
  const [ana, fred] = await world().users('ana', 'fred')
  const { channelId } = await talk(['one'], [ana, fred])
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId })
    expect(await refusal(fred.reads.mark({ channelId }))).toEqual(notFound)
  })
})

test('only members mark a channel read, and only up to a message of the channel', async () => {
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const { channelId } = await talk(['one'], [ana, ben])
  const other = await talk(['elsewhere'], [ana, ben])
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  expect(await refusal(cem.reads.mark({ channelId }))).toEqual(forbidden)
  expect(await refusal(cem.reads.mark({ channelId: open.id }))).toEqual(forbidden)
  expect(await refusal(ben.reads.mark({ channelId: unknownId }))).toEqual(notFound)
  expect(await refusal(ben.reads.mark({ channelId: 'unread' }))).toEqual(notFound)
  for (const messageId of [unknownId, other.ids[0] ?? ''])
    expect(await refusal(ben.reads.mark({ channelId, messageId }))).toEqual(notFound)
  expect(await refusal(ben.reads.mark({ channelId, messageId: 'first' }))).toEqual(invalid)
  expect(await stateOf(ben, channelId)).toEqual({ unreadCount: 1, lastReadSeq: 0 })
})

test('a repeated read has the time of the last read, not of one before', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { channelId, ids } = await talk(['one', 'two'], [ana, ben])
  const readUpTo = async (seq: number) => {
    const { appId } = world()
    const marks = [{ channelId, userId: ben.id, messageId: ids[seq - 1] }]
    const move = { appId, marks, from: 'message', waitsForLocks: true } as const
    const [position] = await world().pool.use((db) => moveMarkers(db, move))
    return position
  }
  await readUpTo(1)
  const [before] = await world().db<{ readAt: string }[]>`
    update read_marks
    set read_at = read_at - interval '1 hour'
    where channel_id = ${channelId}
    returning read_at`
  const last = await readUpTo(2)
  expect(last).toMatchObject({ lastReadSeq: 2 })
  expect(Date.parse(`${last?.readAt}`)).toBeGreaterThan(Date.parse(`${before?.readAt}`) + 1_000)
  expect(await readUpTo(2)).toEqual(last)
  expect(await readUpTo(1)).toEqual(last)
})

test("a user's read counts as a recent one, and their send does not", async () => {
  const [ana, ben] = await world().users('recent-ana', 'recent-ben')
  // A sender has read what they send, which leaves no mark.
  const { channelId } = await talk(['one'], [ana, ben])
  await ben.reads.mark({ channelId })
  await world().db`
    update read_marks
    set read_at = now() - interval '1 hour'
    where channel_id = ${channelId}
      and user_id = ${ben.id}`
  const { appId, pool } = world()
  const users = [ana.id, ben.id].map((userId) => ({ appId, userId }))
  const recent = async (readWithinSeconds: number) => {
    const counts = await pool.use((db) => selectCountsOfUsers(db, { users, readWithinSeconds }))
    return counts.flatMap(({ userId, isRecent }) => (isRecent ? [userId] : []))
  }
  expect(await recent(600)).toEqual([])
  expect(await recent(7_200)).toEqual([ben.id])
})
