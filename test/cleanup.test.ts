import { createEventBus } from '@parley/server/core/event-bus'
import { createDb } from '@parley/server/db/client'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { expect, onTestFinished, test, vi } from 'vitest'
import { channelEventsOf, upTo, userEventsOf } from './support/events.ts'
import { whileLocked } from './support/locks.ts'
import { notFound, refusal, refusals } from './support/refusal.ts'
import { patient } from './support/until.ts'
import { createWorld, type User, useWorld } from './support/world.ts'

const world = useWorld()

/** A second node's clean-up on the same database. */
function cleanupElsewhere() {
  const db = createDb({
    url: world().databaseUrl,
    poolSize: 4,
    applicationName: 'parley-test-elsewhere',
  })
  const errors: unknown[] = []
  const cleanup = createCleanup({
    db,
    publisher: createEventBus().publisher,
    onError: (error) => errors.push(error),
  })
  onTestFinished(async () => {
    await cleanup.stop()
    await db.end({ timeout: 1 })
    expect(errors).toEqual([])
  })
  return cleanup
}

/** Until nobody who was deleted is still to be forgotten, whichever node does it. */
const forgotten = () =>
  vi.waitFor(async () => {
    await world().cleanup.run()
    expect(
      await world().db`select id from users where deleted_at is not null and forgotten_at is null`,
    ).toEqual([])
  }, patient)

/** The revs of a channel and its events have no gap, and each message has the rev of an event. */
async function expectWholeHistory(channelId: string) {
  const events = await channelEventsOf(world(), channelId)
  const [channel] = await world().db<{ rev: number; memberCount: number; members: number }[]>`
    select rev, member_count, (select count(*)::int from members m where m.channel_id = c.id) as members from channels c where id = ${channelId}`
  expect(events.map(({ offset }) => offset)).toEqual(upTo(channel?.rev ?? -1))
  expect(channel?.memberCount).toBe(channel?.members)
  return events
}

test('a deleted user leaves every channel, takes reactions back, and leaves tombstones, with events', async () => {
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
  await forgotten()

  const { messages } = await ben.messages.list({ channelId, since_seq: 0 })
  const deleted = { id: 'ana', name: 'Deleted user', image: null }
  expect(messages.map(({ text, user, deletedAt, replyCount }) => [text, user.name, deletedAt !== null, replyCount])).toEqual([
    ['', 'Deleted user', true, 1], ['hello', 'ben', false, 0], ['', 'Deleted user', true, 0], ['reply to ana', 'ben', false, 0],
  ]) // biome-ignore format: a table
  expect(messages[1]?.reactions).toMatchObject([{ type: '👍', count: 1, users: [{ id: 'cem' }] }])
  expect((await ben.pins.list({ channelId })).messages).toEqual([])
  expect(
    (await ben.members.list({ channelId })).members.map(({ userId, role }) => [userId, role]),
  ).toEqual([
    ['ben', 'owner'],
    ['cem', 'member'],
  ])

  const events = await expectWholeHistory(channelId)
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

test('every message of a long history goes, step by step', async () => {
  const { db, appId } = world()
  const [long, ben] = await world().users('long', 'long-ben')
  const { id } = await long.channels.create({
    type: 'group',
    name: 'Long',
    memberIds: ['long-ben'],
  })
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id}, case when n % 3 = 0 then 'long-ben' else 'long' end, n, n + 2, 'm' || n, '{}', '[]' from generate_series(1, 900) n`
  await db`insert into reactions (app_id, message_id, emoji, user_id) select ${appId}, id, '👍', 'long' from messages where channel_id = ${id}`
  await db`update channels set last_seq = 900, rev = 902 where id = ${id}`
  await world().backend.users.delete({ userId: 'long' })
  await forgotten()
  const [left] = await db`
    select count(*) filter (where text <> '' and user_id = 'long')::int as texts, count(*) filter (where text <> '')::int as others,
      (select count(*)::int from reactions r join messages x on x.id = r.message_id where x.channel_id = ${id}) as reactions
    from messages where channel_id = ${id}`
  expect(left).toEqual({ texts: 0, others: 300, reactions: 0 })
  const events = (await channelEventsOf(world(), id)).filter(({ offset }) => offset > 902)
  expect(events.filter(({ type }) => type === 'message.deleted')).toHaveLength(600)
  expect(events.filter(({ type }) => type === 'reaction.removed').length).toBeGreaterThanOrEqual(
    300,
  )
  expect((await ben.channels.get({ channelId: id })).rev).toBe(902 + events.length)
})

test('also messages in channels the user had left before', async () => {
  const [ana, dan] = await world().users('left-ana', 'dan')
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Left' })
  await dan.messages.send({ channelId, text: 'bye' })
  await dan.members.leave({ channelId })
  await dan.users.delete({ userId: 'dan' })
  await forgotten()
  expect((await ana.messages.list({ channelId })).messages).toEqual([])
  await expectWholeHistory(channelId)
})

test('a deleted user is gone before the clean-up came, and the same id is a new user who keeps what is new', async () => {
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
    expect(
      (await fay.members.list({ channelId })).members.find(({ userId }) => userId === 'eve')?.user
        .name,
    ).toBe('Deleted user')
  })
  const again = await world().user('eve', { name: 'Eve II' })
  expect(await again.channels.list()).toEqual({ channels: [] })
  const anew = await fay.channels.create({ type: 'messaging', memberIds: ['eve'] })
  expect(anew.id).not.toBe(direct.id)
  await fay.members.add({ channelId, userIds: ['eve'] })
  const sent = await again.messages.send({ channelId, text: 'new', clientId: 'first' })
  await again.reactions.add({ channelId, messageId: sent.id, emoji: '👍' })
  await forgotten()
  expect((await again.channels.list()).channels.map(({ id }) => id).sort()).toEqual(
    [channelId, anew.id].sort(),
  )
  expect((await again.messages.list({ channelId })).messages).toMatchObject([
    { id: sent.id, text: 'new', reactions: [{ count: 1 }] },
  ])
  expect((await backend.users.get({ userId: 'eve' })).name).toBe('Eve II')
})

test('a new user of the id waits for the old one to be forgotten, however he comes', async () => {
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
  expect((await gus.members.list({ channelId })).members.map(({ userId }) => userId)).toEqual([
    'gus',
  ])
  await forgotten()
  expect((await backend.users.list({ q: 'h' })).users.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['h1', 'h2']),
  )
  await expectWholeHistory(channelId)
})

test('deletion against sends, reactions and reads: nothing of the user is left, and no history is torn', async () => {
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
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(['INVALID_TOKEN', 'FORBIDDEN', 'NOT_FOUND']).toContain(outcome.reason.code)
    await forgotten()
    const { messages } = await jim.messages.list({ channelId })
    expect(messages.filter(({ userId }) => userId !== jim.id)).toEqual([])
    expect(messages.filter(({ text }) => text.startsWith('from jim'))).toHaveLength(12)
    expect(messages[0]?.reactions).toEqual([])
    expect((await jim.members.list({ channelId })).members).toHaveLength(1)
    await expectWholeHistory(channelId)
  }
})

test('a node that has not heard of the deletion takes nothing more from the user', async () => {
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
  await forgotten()
  expect((await sue.messages.list({ channelId })).messages).toMatchObject([
    { id: messageId, reactions: [] },
  ])
  expect(await world().db`select from devices where user_id = 'rik'`).toHaveLength(0)
})

test('two nodes at it at once do it once', async () => {
  const elsewhere = cleanupElsewhere()
  const [kim] = await world().users('kim', 'lea', 'mel')
  const ids = await Promise.all(
    upTo(8).map(
      async (n) =>
        (await kim.channels.create({ type: 'group', name: `Both ${n}`, memberIds: ['lea', 'mel'] }))
          .id,
    ),
  )
  await world().backend.users.bulkDelete({ userIds: ['lea', 'mel'] })
  const until = Date.now() + 4_000
  const users = { appId: world().appId, userIds: ['lea', 'mel'] }
  await Promise.all([
    elsewhere.run(),
    elsewhere.erase(users, until),
    world().cleanup.erase(users, until),
    world().cleanup.run(),
  ])
  await forgotten()
  for (const channelId of ids) {
    const events = await expectWholeHistory(channelId)
    expect(events.filter(({ type }) => type === 'channel.member_left')).toHaveLength(2)
  }
})

test('what a clean-up that was interrupted has left is done by the next', async () => {
  const [nia] = await world().users('nia', 'oli')
  const ids = await Promise.all(
    upTo(3).map(
      async (n) =>
        (await nia.channels.create({ type: 'group', name: `Cut ${n}`, memberIds: ['oli'] })).id,
    ),
  )
  const elsewhere = cleanupElsewhere()
  await whileLocked(world(), ids[1] ?? '', async (waiting) => {
    await world().backend.users.delete({ userId: 'oli' })
    await waiting(1)
    await elsewhere.stop()
  })
  await forgotten()
  for (const channelId of ids)
    expect((await nia.members.list({ channelId })).members).toHaveLength(1)
})

test('channel deletion against sends: each is in or refused, and in the end no row is left', async () => {
  const [pia, quy] = await world().users('pia', 'quy')
  for (const round of upTo(4)) {
    const { id: channelId } = await pia.channels.create({
      type: 'group',
      name: `Gone ${round}`,
      memberIds: ['quy'],
    })
    const { id: messageId } = await quy.messages.send({ channelId, text: 'first' })
    await quy.reactions.add({ channelId, messageId, emoji: '👍' })
    const sends = upTo(20).map((n) => quy.messages.send({ channelId, text: `m${n}` }))
    const [outcomes] = await Promise.all([
      Promise.allSettled(sends),
      pia.channels.delete({ channelId }),
    ])
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('NOT_FOUND')
    const events = await channelEventsOf(world(), channelId)
    expect(events.at(-1)?.type).toBe('channel.deleted')
    expect(events.filter(({ type }) => type === 'message.new')).toHaveLength(
      1 + outcomes.filter(({ status }) => status === 'fulfilled').length,
    )
    await vi.waitFor(async () => {
      await world().cleanup.run()
      const [left] = await world().db`
        select (select count(*) from channels where id = ${channelId})::int as channels, (select count(*) from members where channel_id = ${channelId})::int as members,
          (select count(*) from messages where channel_id = ${channelId})::int as messages, (select count(*) from reactions where message_id = ${messageId})::int as reactions`
      expect(left).toEqual({ channels: 0, members: 0, messages: 0, reactions: 0 })
    }, patient)
  }
})

test('events go after a day, and old read marks are thinned to the last of a day', async () => {
  const { db, appId } = world()
  const ros = await world().user('ros')
  const { id: channelId } = await ros.channels.create({ type: 'group', name: 'Old' })
  await ros.channels.update({ channelId, name: 'Newer' })
  await db`update events set created_at = now() - interval '25 hours' where topic like ${`%${channelId}`} and "offset" = 1`
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq, read_at)
    select ${appId}, ${channelId}, 'ros', seq, date_trunc('day', now(), 'UTC') - days * interval '1 day' + seq * interval '1 hour'
    from (values (1, 92), (2, 92), (3, 92), (4, 91), (5, 91), (6, 10), (7, 10)) as mark (seq, days)`
  await cleanupElsewhere().run()
  await vi.waitFor(async () => {
    await cleanupElsewhere().run()
    expect(
      (await db`select seq from read_marks where channel_id = ${channelId} order by seq`).map(
        ({ seq }) => seq,
      ),
    ).toEqual([3, 5, 6, 7])
  }, patient)
  expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual([2])
})

test('expired invites and findings about links go, the others stay', async () => {
  const { db, appId } = world()
  const una = await world().user('una')
  const { id: workspaceId } = await una.workspaces.create({ name: 'Acme', type: 'team' })
  for (const expiresInDays of [1, 2]) await una.invites.create({ workspaceId, expiresInDays })
  await db`update workspace_invites set expires_at = expires_at - interval '1 day 1 second' where workspace_id = ${workspaceId}`
  await db`
    insert into link_previews (app_id, url_hash, preview, expires_at)
    values (${appId}, 'old', null, now() - interval '1 second'), (${appId}, 'young', null, now() + interval '1 minute')`
  await vi.waitFor(async () => {
    await cleanupElsewhere().run()
    expect(await db`select url_hash from link_previews`).toEqual([{ urlHash: 'young' }])
  }, patient)
  expect(
    await db`select expires_at > now() as is_valid from workspace_invites where workspace_id = ${workspaceId}`,
  ).toEqual([{ isValid: true }])
})
