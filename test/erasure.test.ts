import { expect, test } from 'vitest'
import { erased, expectCompleteHistory } from './support/cleanup.ts'
import { channelEventsOf, userEventsOf } from './support/events.ts'
import { whileLocked } from './support/locks.ts'
import { notFound, refusal } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('deleting a user leaves tombstones, without memberships or reactions', async () => {
  const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
  const channel = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben', 'cem'],
  })
  const channelId = channel.id
  const mine = await ana.messages.send({ channelId, text: 'secret of ana', clientId: 'k1' })
  const theirs = await ben.messages.send({ channelId, text: 'hello' })
  await ana.messages.send({ channelId, text: 'reply to ben', parentId: theirs.id })
  await ben.messages.send({ channelId, text: 'reply to ana', parentId: mine.id })
  for (const emoji of ['👍', '🎉'])
    await ana.reactions.add({ channelId, messageId: theirs.id, emoji })
  await cem.reactions.add({ channelId, messageId: theirs.id, emoji: '👍' })
  await ana.pins.pin({ channelId, messageId: mine.id })
  for (const reader of [ana, cem]) await reader.reads.mark({ channelId })
  await ana.users.delete({ userId: 'ana' })
  await erased(world())

  const { messages } = await ben.messages.list({ channelId, since_seq: 0 })
  const deleted = { id: 'ana', name: 'Deleted user', image: null }
  expect(
    messages.map(({ text, user, deletedAt, replyCount }) => ({
      text,
      author: user.name,
      isDeleted: deletedAt !== null,
      replyCount,
    })),
  ).toEqual([
    { text: '', author: 'Deleted user', isDeleted: true, replyCount: 1 },
    { text: 'hello', author: 'ben', isDeleted: false, replyCount: 0 },
    { text: '', author: 'Deleted user', isDeleted: true, replyCount: 0 },
    { text: 'reply to ana', author: 'ben', isDeleted: false, replyCount: 0 },
  ])
  expect(messages[1]?.reactions).toMatchObject([{ type: '👍', count: 1, users: [{ id: 'cem' }] }])
  expect((await ben.pins.list({ channelId })).messages).toEqual([])
  expect(
    (await ben.members.list({ channelId })).members.map(({ userId, role }) => [userId, role]),
  ).toEqual([
    ['ben', 'owner'],
    ['cem', 'member'],
  ])

  const events = await expectCompleteHistory(world(), channelId)
  const count = (type: string) => events.filter((event) => event.type === type).length
  expect(events.find(({ type }) => type === 'channel.member_left')?.payload).toMatchObject({
    userId: 'ana',
    user: deleted,
    memberCount: 2,
  })
  expect([
    count('reaction.removed'),
    count('channel.member_left'),
    count('channel.member_updated'),
  ]).toEqual([2, 1, 1])
  expect(JSON.stringify(events)).not.toMatch(/secret of ana|reply to ben/)
  expect(new Set(messages.map(({ rev }) => rev)).size).toBeGreaterThan(2)
  for (const { rev } of messages)
    expect(rev).toBeLessThanOrEqual((await ben.channels.get({ channelId })).rev)
  expect(await userEventsOf(world(), 'ana')).toEqual([])
  const marks = await world().db`
    select user_id
    from read_marks
    where channel_id = ${channelId}
      and user_id <> 'ben'`
  expect(marks.map(({ userId }) => userId)).toEqual(['cem'])
})

test('every message of a deleted user is erased from a long history', async () => {
  const { db, appId } = world()
  const [long, ben] = await world().users('long', 'long-ben')
  const { id } = await long.channels.create({
    type: 'group',
    name: 'Long',
    memberIds: ['long-ben'],
  })
  await db`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments
    )
    select gen_random_uuid(), ${appId}, ${id},
      case when n % 3 = 0 then 'long-ben' else 'long' end,
      n, n + 2, 'm' || n, '{}', '[]'
    from generate_series(1, 900) n`
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, msg.id, '👍', 'long'
    from messages msg
    where msg.channel_id = ${id}`
  await db`update channels set last_seq = 900, rev = 902 where id = ${id}`
  await world().backend.users.delete({ userId: 'long' })
  await erased(world())
  const [left] = await db`
    select
      count(*) filter (where msg.text <> '' and msg.user_id = 'long')::int as texts,
      count(*) filter (where msg.text <> '')::int as others,
      (
        select count(*)::int
        from reactions r
        join messages other on other.id = r.message_id
        where other.channel_id = ${id}
      ) as reactions
    from messages msg
    where msg.channel_id = ${id}`
  expect(left).toEqual({ texts: 0, others: 300, reactions: 0 })
  const events = (await channelEventsOf(world(), id)).filter(({ offset }) => offset > 902)
  expect(events.filter(({ type }) => type === 'message.deleted')).toHaveLength(600)
  expect(events.filter(({ type }) => type === 'reaction.removed').length).toBeGreaterThanOrEqual(
    300,
  )
  expect((await ben.channels.get({ channelId: id })).rev).toBe(902 + events.length)
})

test('hundreds of reactions of a deleted user are erased; each message gets a rev', async () => {
  const { db, appId } = world()
  const [, ben] = await world().users('fond', 'fond-ben')
  const { id } = await ben.channels.create({ type: 'group', name: 'Fond', memberIds: ['fond'] })
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id}, 'fond-ben', n, n + 2, 'm' || n, '{}', '[]'
    from generate_series(1, 401) n`
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, msg.id, '👍', liker
    from messages msg, unnest(array['fond', 'fond-ben']) liker
    where msg.channel_id = ${id}`
  await db`update channels set last_seq = 401, rev = 403 where id = ${id}`
  await world().backend.users.delete({ userId: 'fond' })
  await erased(world())
  const removed = (await channelEventsOf(world(), id)).filter(
    ({ type }) => type === 'reaction.removed',
  )
  expect(removed).toHaveLength(401)
  for (const { payload } of removed)
    expect(payload.reactions).toMatchObject([{ count: 1, users: [{ id: 'fond-ben' }] }])
  const { messages } = await ben.messages.list({ channelId: id, limit: 200 })
  const revs = new Map(removed.map(({ offset, payload }) => [payload.messageId, offset]))
  for (const { id: messageId, rev } of messages) expect(rev).toBe(revs.get(messageId))
})

test('messages in channels that the deleted user had left are erased too', async () => {
  const [ana, dan] = await world().users('left-ana', 'dan')
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Left' })
  await dan.messages.send({ channelId, text: 'bye' })
  await dan.members.leave({ channelId })
  await dan.users.delete({ userId: 'dan' })
  await erased(world())
  expect((await ana.messages.list({ channelId })).messages).toEqual([])
  await expectCompleteHistory(world(), channelId)
})

test("a deleted id can be reused at once, and erasure spares the new user's data", async () => {
  const { backend } = world()
  const [eve, fay] = await world().users('eve', 'fay')
  const { id: channelId } = await fay.channels.create({
    type: 'group',
    name: 'Held',
    memberIds: ['eve'],
  })
  const direct = await fay.channels.create({ type: 'messaging', memberIds: ['eve'] })
  await eve.messages.send({ channelId, text: 'old', clientId: 'first' })
  const draft = { type: 'group', name: 'Made', clientId: 'made' } as const
  const made = await eve.channels.create(draft)
  await whileLocked(world(), channelId, async () => {
    await backend.users.delete({ userId: 'eve' })
    expect(await refusal(backend.users.get({ userId: 'eve' }))).toEqual(notFound)
    expect(await refusal(backend.users.delete({ userId: 'eve' }))).toEqual(notFound)
    expect(
      await refusal(fay.channels.create({ type: 'messaging', memberIds: ['eve'] })),
    ).toMatchObject({ code: 'NOT_FOUND' })
    const { members } = await fay.members.list({ channelId })
    expect(members.find(({ userId }) => userId === 'eve')?.user.name).toBe('Deleted user')
  })
  const again = await world().user('eve', { name: 'Eve II' })
  expect(await again.channels.list()).toEqual({ channels: [], settingsVersion: 0 })
  const newDirect = await fay.channels.create({ type: 'messaging', memberIds: ['eve'] })
  expect(newDirect.id).not.toBe(direct.id)
  await fay.members.add({ channelId, userIds: ['eve'] })
  const sent = await again.messages.send({ channelId, text: 'new', clientId: 'first' })
  const madeAgain = await again.channels.create(draft)
  expect(madeAgain.id).not.toBe(made.id)
  await again.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
  await erased(world())
  expect((await again.channels.list()).channels.map(({ id }) => id).sort()).toEqual(
    [channelId, newDirect.id, madeAgain.id].sort(),
  )
  expect((await again.messages.list({ channelId })).messages).toMatchObject([
    { id: sent.id, text: 'new', reactions: [{ count: 1 }] },
  ])
  expect((await backend.users.get({ userId: 'eve' })).name).toBe('Eve II')
})

test('the second user of an id is erased as well as the first', async () => {
  const { id: channelId } = await (await world().user('twice-ana')).channels.create({
    type: 'public',
    name: 'Twice',
  })
  for (const text of ['first', 'second']) {
    const dup = await world().user('twice')
    await dup.messages.send({ channelId, text })
    await world().backend.users.delete({ userId: 'twice' })
    await erased(world())
  }
  const ana = await world().user('twice-ana')
  const { messages } = await ana.messages.list({ channelId, since_seq: 0 })
  expect(messages.map(({ text, deletedAt }) => [text, deletedAt !== null])).toEqual([
    ['', true],
    ['', true],
  ])
  expect(await ana.channels.get({ channelId })).toMatchObject({ memberCount: 1 })
})

test('replies of a deleted user to their own message are erased with it', async () => {
  const [own, ben] = await world().users('thread-own', 'thread-ben')
  const { id: channelId } = await ben.channels.create({
    type: 'group',
    name: 'Threads',
    memberIds: ['thread-own'],
  })
  const root = await own.messages.send({ channelId, text: 'root' })
  for (const user of [own, ben, own])
    await user.messages.send({ channelId, text: `of ${user.id}`, parentId: root.id })
  await world().backend.users.delete({ userId: 'thread-own' })
  await erased(world())
  const { messages } = await ben.messages.list({ channelId, since_seq: 0 })
  expect(
    messages.map(({ text, replyCount, deletedAt }) => [text, replyCount, deletedAt !== null]),
  ).toEqual([
    ['', 1, true],
    ['', 0, true],
    ['of thread-ben', 0, false],
    ['', 0, true],
  ])
  await expectCompleteHistory(world(), channelId)
})
