import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { channelEventsOf, upTo } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { waitingForRows, whileLocked, whileRowLocked, withoutCleanup } from './support/locks.ts'
import { outcome, rowsOf, talk } from './support/races.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('concurrent sends get seq 1 to n without a gap, and every rev has one event', async () => {
  const extras = await insertUsers(world(), 'sender', 8)
  const { ana, channelId } = await talk(world())
  await ana.members.add({ channelId, userIds: extras })
  const senders = await Promise.all(extras.map((id) => world().user(id)))
  const sent = await Promise.all(
    upTo(15).flatMap((n) =>
      senders.map((sender) => sender.messages.send({ channelId, text: `${n}` })),
    ),
  )
  expect(sent.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(upTo(120))
  const { rev } = await ana.channels.get({ channelId })
  expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual(upTo(rev))
  expect((await rowsOf(world(), channelId)).map(({ rev }) => rev)).toEqual(
    upTo(120).map((seq) => rev - 120 + seq),
  )
  for (const sender of senders)
    expect((await sender.channels.get({ channelId })).unreadCount).toBe(105)
})

test('messages of one user keep their order beside concurrent sends of others', async () => {
  const { ana, ben, cem, channelId } = await talk(world())
  await Promise.all(
    [ana, ben, cem].map(async (user) => {
      for (const n of upTo(15)) await user.messages.send({ channelId, text: `${n}` })
    }),
  )
  const { messages } = await ana.messages.list({ channelId })
  for (const id of ['ana', 'ben', 'cem'])
    expect(messages.filter(({ userId }) => userId === id).map(({ text }) => text)).toEqual(
      upTo(15).map(String),
    )
})

test('concurrent replies are all counted', async () => {
  const { ana, ben, cem, channelId } = await talk(world())
  const root = await ana.messages.send({ channelId, text: 'root' })
  await Promise.all(
    upTo(8).flatMap(() =>
      [ana, ben, cem].map((user) =>
        user.messages.send({ channelId, text: 'reply', parentId: root.id }),
      ),
    ),
  )
  expect((await ana.messages.get({ channelId, messageId: root.id })).replyCount).toBe(24)
  const counts = (await channelEventsOf(world(), channelId)).flatMap(({ payload }) =>
    payload.parent ? [(payload.parent as { replyCount: number }).replyCount] : [],
  )
  expect(counts).toEqual(upTo(24))
})

test('a deletion by the backend takes its turn among the writes of users', async () => {
  const { ana, ben, channelId } = await talk(world())
  for (const round of upTo(4)) {
    const ref = { channelId, messageId: (await ana.messages.send({ channelId, text: 'x' })).id }
    const isContested = round > 2
    const calls = [
      () => world().backend.messages.delete(ref),
      () => (isContested ? ana.messages.delete(ref) : ben.messages.send({ channelId, text: 'y' })),
    ]
    if (round % 2) calls.reverse()
    const { results } = await whileLocked(world(), channelId, async (waiting) => {
      const results = []
      for (const call of calls) {
        results.push(outcome(call()))
        await waiting(results.length)
      }
      return { results: Promise.all(results) }
    })
    expect(await results).toEqual(['done', isContested ? 'NOT_FOUND' : 'done'])
  }
  const { rev } = await ana.channels.get({ channelId })
  const events = await channelEventsOf(world(), channelId)
  expect(events.map(({ offset }) => offset)).toEqual(upTo(rev))
  // The event of each deletion, and the event of the message, which has become one too.
  expect(events.filter(({ type }) => type === 'message.deleted')).toHaveLength(8)
})

test('a deletion wins over a concurrent edit, whichever comes first', async () => {
  const { ana, channelId } = await talk(world())
  for (const round of upTo(15)) {
    const ref = {
      channelId,
      messageId: (await ana.messages.send({ channelId, text: 'secret' })).id,
    }
    const calls = [
      () => ana.messages.delete(ref),
      () => ana.messages.edit({ ...ref, text: 'secret edit' }),
    ]
    const [first, second] = await Promise.all(
      (round % 2 ? calls : calls.reverse()).map((call) => outcome(call())),
    )
    expect(['done', 'NOT_FOUND']).toContain(round % 2 ? second : first)
    expect(round % 2 ? first : second).toBe('done')
  }
  expect((await rowsOf(world(), channelId)).every(({ deletedAt }) => deletedAt)).toBe(true)
  const shown = await world().db`
    select
    from events
    where envelope like '%secret%'
      and topic like ${`%:${world().appId}:%`}`
  expect(shown).toHaveLength(0)
})

test('concurrent reactions are all in the last event', async () => {
  const { ana, ben, cem, channelId } = await talk(world())
  const ref = { channelId, messageId: (await ana.messages.send({ channelId, text: 'hi' })).id }
  const calls = await whileLocked(world(), channelId, async (waiting) => {
    const calls = [
      ben.reactions.add({ ...ref, emoji: '👍' }),
      cem.reactions.add({ ...ref, emoji: '👍' }),
      ana.reactions.add({ ...ref, emoji: '🎉' }),
    ]
    await waiting(3)
    return { calls }
  })
  await Promise.all(calls.calls)
  const emitted = (await channelEventsOf(world(), channelId))
    .filter(({ type }) => type === 'reaction.added')
    .map(({ payload }) => payload.reactions as { count: number }[])
  expect(emitted.map((reactions) => reactions.reduce((sum, { count }) => sum + count, 0))).toEqual([
    1, 2, 3,
  ])
  const { reactions } = await ana.messages.get(ref)
  expect(emitted.at(-1)).toEqual(reactions.map((reaction) => ({ ...reaction, own: false })))
})

test('a send that waits while the channel is deleted is not found and stores nothing', async () => {
  const { ana, ben, channelId } = await talk(world())
  await ben.messages.send({ channelId, text: 'warm' })
  await withoutCleanup(world(), async () => {
    const calls = await whileLocked(world(), channelId, async (waiting) => {
      const deleted = outcome(ana.channels.delete({ channelId }))
      await waiting(1)
      const sent = outcome(ben.messages.send({ channelId, text: 'late' }))
      await waiting(2)
      return { deleted, sent }
    })
    expect([await calls.deleted, await calls.sent]).toEqual(['done', 'NOT_FOUND'])
    expect(await rowsOf(world(), channelId)).toHaveLength(1)
    expect((await channelEventsOf(world(), channelId)).at(-1)?.type).toBe('channel.deleted')
  })
})

test('concurrent pins never exceed the limit', async () => {
  const { ana, ben, channelId } = await talk(world())
  const ids = (
    await Promise.all(upTo(104).map((n) => ana.messages.send({ channelId, text: `${n}` })))
  ).map(({ id }) => id)
  for (const messageId of ids.slice(0, 98)) await ana.pins.pin({ channelId, messageId })
  const results = await Promise.all(
    ids
      .slice(98)
      .map((messageId, index) =>
        outcome((index % 2 ? ana : ben).pins.pin({ channelId, messageId })),
      ),
  )
  expect(results.sort()).toEqual([...Array(4).fill('VALIDATION_ERROR'), 'done', 'done'])
  expect((await ana.pins.list({ channelId })).messages).toHaveLength(100)
})

test.each([
  ['last_read_seq', 'unread_after_seq'],
  ['unread_after_seq', 'last_read_seq'],
])('a send that moves %s of its author does not undo another move of %s', async (moves, other) => {
  const { ana, ben, channelId } = await talk(world())
  await ben.messages.send({ channelId, text: 'first' })
  const isMember = (sql: Tx) => sql`channel_id = ${channelId} and user_id = ${ana.id}`
  const { db } = world()
  await db`
    update members
    set ${db(moves)} = 1, ${db(other)} = 0
    where ${isMember(db)}`
  const lock = (sql: Tx) => sql`
    select
    from members
    where ${isMember(sql)}
    for no key update`
  const { sending } = await whileRowLocked(world(), lock, async (sql) => {
    const sending = ana.messages.send({ channelId, text: 'second' })
    await waitingForRows(world(), 1)
    await sql`update members set ${sql(other)} = 1 where ${isMember(sql)}`
    return { sending }
  })
  await sending
  const [position] = await db`
    select ${db(moves)} as moved, ${db(other)} as other
    from members
    where ${isMember(db)}`
  expect(position).toEqual({ moved: 2, other: 1 })
})
