import { expect, onTestFinished, test } from 'vitest'
import { cleanupElsewhere, erased, expectCompleteHistory } from './support/cleanup.ts'
import { channelEventsOf, upTo, userEventsOf } from './support/events.ts'
import { whileLocked } from './support/locks.ts'
import { notFound, refusal, refusals } from './support/refusal.ts'
import { createWorld, type User, useWorld } from './support/world.ts'

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

test('hundreds of reactions of a deleted user are erased, and each message gets its rev', async () => {
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
  await whileLocked(world(), channelId, async () => {
    await backend.users.delete({ userId: 'eve' })
    expect(await refusal(backend.users.get({ userId: 'eve' }))).toEqual(notFound)
    expect(await refusal(backend.users.delete({ userId: 'eve' }))).toEqual(notFound)
    expect(
      await refusal(fay.channels.create({ type: 'messaging', memberIds: ['eve'] })),
    ).toMatchObject({ code: 'VALIDATION_ERROR' })
    const { members } = await fay.members.list({ channelId })
    expect(members.find(({ userId }) => userId === 'eve')?.user.name).toBe('Deleted user')
  })
  const again = await world().user('eve', { name: 'Eve II' })
  expect(await again.channels.list()).toEqual({ channels: [] })
  const newDirect = await fay.channels.create({ type: 'messaging', memberIds: ['eve'] })
  expect(newDirect.id).not.toBe(direct.id)
  await fay.members.add({ channelId, userIds: ['eve'] })
  const sent = await again.messages.send({ channelId, text: 'new', clientId: 'first' })
  await again.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
  await erased(world())
  expect((await again.channels.list()).channels.map(({ id }) => id).sort()).toEqual(
    [channelId, newDirect.id].sort(),
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

test('the replies of a deleted user to themselves are erased with its root', async () => {
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

test('every way to create a user waits until the previous user of that id is erased', async () => {
  const { backend } = world()
  const [gus] = await world().users('gus', 'h1', 'h2', 'h3')
  const { id: channelId } = await gus.channels.create({
    type: 'group',
    name: 'Three',
    memberIds: ['h1', 'h2', 'h3'],
  })
  await backend.users.bulkDelete({ userIds: ['h1', 'h2', 'h3'] })
  await Promise.all([
    backend.users.sync({ users: [{ id: 'h1' }, { id: 'h2' }] }),
    backend.users.put({ userId: 'h3', name: 'Third' }),
    backend.tokens.create({ userId: 'h1' }),
  ])
  const { members } = await gus.members.list({ channelId })
  expect(members.map(({ userId }) => userId)).toEqual(['gus'])
  await erased(world())
  expect((await backend.users.list({ q: 'h' })).users.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['h1', 'h2']),
  )
  await expectCompleteHistory(world(), channelId)
})

test('deleting a user during their writes erases everything and leaves no gaps', async () => {
  for (const round of upTo(4)) {
    const [ivy, jim] = (await world().users(`ivy-${round}`, `jim-${round}`)) as [User, User]
    const { id: channelId } = await jim.channels.create({
      type: 'group',
      name: 'Race',
      memberIds: [ivy.id],
    })
    const { id: messageId } = await jim.messages.send({ channelId, text: 'react to this' })
    const busy = upTo(12).flatMap((n) => [
      ivy.messages.send({ channelId, text: `from ivy ${n}` }),
      ivy.reactions.add({ channelId, messageId, emoji: `e${n}` }),
      ivy.reads.mark({ channelId }),
      jim.messages.send({ channelId, text: `from jim ${n}` }),
    ])
    const [outcomes] = await Promise.all([
      Promise.allSettled(busy),
      world().backend.users.delete({ userId: ivy.id }),
    ])
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    for (const code of codes) expect(['INVALID_TOKEN', 'FORBIDDEN', 'NOT_FOUND']).toContain(code)
    await erased(world())
    const { messages } = await jim.messages.list({ channelId })
    expect(messages.filter(({ userId }) => userId !== jim.id)).toEqual([])
    expect(messages.filter(({ text }) => text.startsWith('from jim'))).toHaveLength(12)
    expect(messages[0]?.reactions).toEqual([])
    expect((await jim.members.list({ channelId })).members).toHaveLength(1)
    await expectCompleteHistory(world(), channelId)
  }
})

test('a node that missed the deletion accepts no more writes of the user', async () => {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(() => node.stop())
  const [rik, sue] = await world().users('rik', 'sue')
  const { id: channelId } = await sue.channels.create({
    type: 'group',
    name: 'Late',
    memberIds: ['rik'],
  })
  const { id: messageId } = await sue.messages.send({ channelId, text: 'hi' })
  const there = node.api({ token: rik.token })
  await there.messages.send({ channelId, text: 'still here' })
  await whileLocked(world(), channelId, () => world().backend.users.delete({ userId: 'rik' }))
  const calls = [
    there.messages.send({ channelId, text: 'too late' }),
    there.reactions.add({ channelId, messageId, emoji: '👍' }),
    there.devices.create({ platform: 'ios', provider: 'apns', token: 'rik' }),
    there.workspaces.create({ name: 'Late', type: 'team' }),
  ]
  for (const { status } of await refusals(calls)) expect([401, 403]).toContain(status)
  await erased(world())
  expect((await sue.messages.list({ channelId })).messages).toMatchObject([
    { id: messageId, reactions: [] },
  ])
  const devices = await world().db`
    select from devices
    where app_id = ${world().appId}
      and user_id = 'rik'`
  expect(devices).toHaveLength(0)
})

test('two nodes that erase the same users remove each membership once', async () => {
  const elsewhere = cleanupElsewhere(world())
  const [kim] = await world().users('kim', 'lea', 'mel')
  const channels = await Promise.all(
    upTo(8).map((n) =>
      kim.channels.create({ type: 'group', name: `Both ${n}`, memberIds: ['lea', 'mel'] }),
    ),
  )
  await world().backend.users.bulkDelete({ userIds: ['lea', 'mel'] })
  const until = performance.now() + 4_000
  const users = { appId: world().appId, userIds: ['lea', 'mel'] }
  await Promise.all([
    elsewhere.run(),
    elsewhere.erase(users, until),
    world().cleanup.erase(users, until),
    world().cleanup.run(),
  ])
  await erased(world())
  for (const { id: channelId } of channels) {
    const events = await expectCompleteHistory(world(), channelId)
    expect(events.filter(({ type }) => type === 'channel.member_left')).toHaveLength(2)
  }
})

test('an interrupted erasure is completed by the next clean-up', async () => {
  const [nia] = await world().users('nia', 'oli')
  const channels = await Promise.all(
    upTo(3).map((n) =>
      nia.channels.create({ type: 'group', name: `Cut ${n}`, memberIds: ['oli'] }),
    ),
  )
  const elsewhere = cleanupElsewhere(world())
  await whileLocked(world(), channels[1]?.id ?? '', async (waiting) => {
    await world().backend.users.delete({ userId: 'oli' })
    await waiting(1)
    await elsewhere.stop()
  })
  await erased(world())
  for (const { id: channelId } of channels)
    expect((await nia.members.list({ channelId })).members).toHaveLength(1)
})
