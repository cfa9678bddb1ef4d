import type { ImportRecord } from '@parley/client/server'
import { limits, topics } from '@parley/contract'
import { expect, test } from 'vitest'
import { at, channel, channelIdOf, member, message, post, user } from '../imports/records.ts'
import { erased } from '../support/cleanup.ts'
import { dump } from '../support/dump.ts'
import { upTo } from '../support/events.ts'
import { withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** A word in every text of a user, in their name and in the address of their picture. */
const MARKER = 'Quokka-5c1e'
const marked = async () => (await dump(world())).filter((row) => row.includes(MARKER))
const profile = { name: `Ms ${MARKER}`, image: `https://example.com/${MARKER}.png` }
const line = (record: ImportRecord) => `${JSON.stringify(record)}\n`

/** Deletes a user and waits until the log of the operator has the proof of their erasure. */
async function erase(userId: string) {
  await world().backend.users.delete({ userId })
  await erased(world())
  const noted = { appId: world().appId, operation: 'users.erased' }
  const { entries } = await world().operator.audit.listOfApp(noted)
  expect(entries.flatMap(({ target }) => target.userIds)).toContain(userId)
}

test('after an erasure no table has a text or the name of the user, in live channels', async () => {
  const ana = await world().user('live-ana', profile)
  const ben = await world().user('live-ben')
  const { id: channelId } = await ben.channels.create({
    type: 'group',
    name: 'Live',
    memberIds: ['live-ana'],
  })
  const direct = await ana.channels.create({ type: 'messaging', memberIds: ['live-ben'] })
  await ana.messages.send({ channelId: direct.id, text: MARKER })
  // A direct message is named after both of its users.
  await world().backend.channels.update({ channelId: direct.id, custom: { topic: 'lunch' } })
  await ana.members.update({ channelId, userId: 'live-ana', custom: { nick: MARKER } })
  const mine = await ana.messages.send({ channelId, text: MARKER, attachments: [] })
  await ana.messages.edit({ channelId, messageId: mine.id, text: `${MARKER} edited` })
  const custom = { id: 'live-ana', name: 'Wattle-7d', image: 'given' }
  const theirs = await ben.messages.send({
    channelId,
    text: 'see',
    quotedMessageId: mine.id,
    custom,
  })
  const ref = { channelId, messageId: theirs.id }
  await ana.reactions.add({ ...ref, emoji: '👍' })
  await ben.messages.edit({ ...ref, text: 'seen' })
  await ana.reactions.remove({ ...ref, emoji: '👍' })
  expect((await marked()).length).toBeGreaterThan(8)
  await erase('live-ana')
  expect(await marked()).toEqual([])
  // Metadata that others made up is theirs, whatever it looks like.
  const given = (await dump(world())).filter((row) => row.includes(custom.name))
  expect(given).toHaveLength(3)
  const added = await world().db`
    select e.envelope::json #> '{payload,channel}' as channel
    from events e
    where e.topic = ${topics.user(world().appId, 'live-ben')}
      and e.envelope::json #>> '{payload,channel,id}' = ${direct.id}`
  expect(added[0]?.channel).toMatchObject({ name: 'Deleted user', image: null })
})

test('after an erasure no event of a long history has the name', async () => {
  const { db, appId } = world()
  const [ana, ben] = [await world().user('long-ana', profile), await world().user('long-ben')]
  const memberIds = [ana.id]
  const { id: channelId } = await ben.channels.create({ type: 'group', name: 'Long', memberIds })
  const { id: messageId } = await ben.messages.send({ channelId, text: 'see' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  // These are more events than two steps can rewrite.
  await db`
    with copied as (
      insert into events (topic, "offset", type, envelope, message_id)
      select e.topic, c.rev + n, e.type, e.envelope, e.message_id
      from channels c
      join events e on e.topic = ${topics.channel(appId, channelId)} and e.type = 'reaction.added'
      cross join generate_series(1, 450) n
      where c.id = ${channelId}
    )
    update channels
    set rev = rev + 450
    where id = ${channelId}`
  expect((await marked()).length).toBeGreaterThan(450)
  await erase(ana.id)
  expect(await marked()).toEqual([])
})

test('after an erasure no table has a text or the name, of deleted channels', async () => {
  const ana = await world().user('dead-ana', profile)
  const [ben] = await world().users('dead-ben')
  const talk = async (name: string) => {
    const { id: channelId } = await ana.channels.create({
      ...{ type: 'group', name, memberIds: ['dead-ben'] },
    })
    const { id: messageId } = await ana.messages.send({ channelId, text: MARKER })
    await ben.messages.send({ channelId, text: 'yes', quotedMessageId: messageId })
    await ana.reactions.add({ channelId, messageId, emoji: '👍' })
    await ben.channels.get({ channelId })
    return channelId
  }
  const purged = await talk('Purged')
  const direct = await ana.channels.create({ type: 'messaging', memberIds: ['dead-ben'] })
  for (const channelId of [purged, direct.id]) await ana.channels.delete({ channelId })
  await world().cleanup.run()
  await expect.poll(() => world().db`select from channels where id = ${purged}`).toEqual([])
  const left = await world().db`
    select type from events where topic = ${topics.channel(world().appId, purged)}`
  expect([...left]).toEqual([{ type: 'channel.deleted' }])
  const deleted = await talk('Deleted')
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId: deleted })
    await world().backend.users.delete({ userId: 'dead-ana' })
    // A call that needs the id waits for this erasure, and not for the cleanup.
    await world().backend.users.put({ userId: 'dead-ana', name: 'Another' })
    expect(await marked()).toEqual([])
  })
})

test('after an erasure no table has a text or the name, of events kept for webhooks', async () => {
  const { db, appId, cleanup } = world()
  const ana = await world().user('hook-ana', profile)
  const ben = await world().user('hook-ben')
  const memberIds = ['hook-ben']
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Kept', memberIds })
  const direct = await ana.channels.create({ type: 'messaging', memberIds })
  await ana.messages.send({ channelId: direct.id, text: MARKER })
  const { id: messageId } = await ana.messages.send({ channelId, text: MARKER })
  await ana.messages.edit({ channelId, messageId, text: `${MARKER} edited` })
  await ben.messages.send({ channelId, text: 'yes', quotedMessageId: messageId })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.channels.update({ channelId, description: 'Ours' })
  const words = 'the words of ben'
  const { id: quotedMessageId } = await ben.messages.send({ channelId, text: words })
  await ben.messages.send({ channelId, text: '@hook-ana', quotedMessageId })
  await db`
    insert into webhooks (id, app_id, url, events, enabled, secret)
    values (gen_random_uuid(), ${appId}, 'https://example.com', '{}', false, 'secret')`
  for (const id of [channelId, direct.id]) await ana.channels.delete({ channelId: id })
  await cleanup.run()
  const topic = topics.channel(appId, channelId)
  const events = () => db`select type from events where topic = ${topic} order by "offset"`
  await expect.poll(() => db`select from messages where channel_id = ${channelId}`).toEqual([])
  await expect.poll(() => db`select from members where channel_id = ${channelId}`).toEqual([])
  const before = await events()
  expect(before.map(({ type }) => type)).toContain('message.new')
  await erase('hook-ana')
  expect(await marked()).toEqual([])
  const types = (await events()).map(({ type }) => type)
  const joined = 'channel.member_joined'
  expect(types).toEqual([
    ...[joined, joined, 'message.deleted', 'message.deleted'],
    ...['message.new', 'reaction.added', 'channel.updated'],
    ...['message.new', 'message.new', 'channel.deleted'],
  ])
  // Texts of others stay, also where they quote each other.
  const theirs = db`
    select
    from events
    where topic = ${topic}
      and strpos(envelope, ${words}) > 0`
  expect(await theirs).toHaveLength(2)
  const named = db`select from events where topic = ${topic} and strpos(envelope, '"Kept"') > 0`
  expect(await named).toHaveLength(1)
  // The rest goes when the events expire.
  await db`delete from events where topic = ${topic}`
  await cleanup.run()
  await expect.poll(() => db`select from channels where id = ${channelId}`).toEqual([])
  await db`delete from webhooks where app_id = ${appId}`
})

test('after an erasure no table has a text or the name, of imports that go on later', async () => {
  const app = world()
  const records = [
    user('kai', profile),
    user('lou'),
    channel('waits'),
    member('waits', 'lou'),
    message('w1', 'waits', {
      ...{ userId: 'kai', text: `@${MARKER}`, custom: { note: MARKER } },
      attachments: [{ type: 'image', url: `https://example.com/${MARKER}.png` }],
    }),
    message('w2', 'waits', { userId: 'lou', createdAt: at(2) }),
  ]
  const whole = records.map(line).join('')
  await post(app, `${whole}{"record"`)
  const stored = await storedUnseen('kai', 'lou')
  expect((await marked()).length).toBeGreaterThan(2)
  await erase('kai')
  expect(await marked()).toEqual([])
  const [left] = await app.db`
    select
      (select count(*)::int from members m where m.channel_id = ${stored} and m.user_id = 'kai')
        as members,
      (select count(*)::int from reactions r where r.user_id = 'kai') as reactions,
      (select array_agg(reply_count order by seq) from messages where channel_id = ${stored})
        as replies`
  expect(left).toEqual({ members: 0, reactions: 0, replies: [1, 0, 0] })
  // The id is another user's now, who gets no record that waited.
  const kai = await app.user('kai')
  expect(await post(app, whole)).toMatchObject({ body: { isFinished: true, refused: 0 } })
  const lou = await app.user('lou')
  const channelId = channelIdOf(app, 'waits')
  const { messages } = await lou.messages.list({ channelId, since_seq: 0 })
  expect(messages.map(({ text, seq, deletedAt }) => [text, seq, deletedAt !== null])).toEqual([
    ['', 1, true],
    ['w2', 2, false],
  ])
  expect((await kai.channels.list()).channels).toEqual([])
  expect(await marked()).toEqual([])
})

/**
 * A direct message whose import has stored its messages, and which no one sees: its two users have
 * begun another one meanwhile.
 */
async function storedUnseen(one: string, other: string) {
  const app = world()
  const by = { userId: one, createdAt: at(1) }
  const records: ImportRecord[] = [
    channel('unseen', { type: 'messaging', name: undefined, memberIds: [one, other] }),
    message('u1', 'unseen', { ...by, userId: other }),
    message('u2', 'unseen', { ...by, text: MARKER, parentId: 'u1' }),
    message('u3', 'unseen', { ...by, userId: other, parentId: 'u1' }),
    { record: 'reaction', messageId: 'u1', emoji: '👍', ...by },
    // The batch is full, so that it is stored before the file ends.
    ...upTo(limits.imports.batch.lines).map(() => user(other)),
  ]
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* file() {
    yield records.map(line).join('')
    await ended
  }
  const running = post(app, ReadableStream.from(file()) as never)
  const id = channelIdOf(app, 'unseen')
  await expect.poll(() => app.db`select from channels where id = ${id}`).toHaveLength(1)
  await app.api({ apiKey: app.apiKey, userId: one }).channels.create({
    ...{ type: 'messaging', memberIds: [other] },
  })
  end()
  expect((await running).body.refusals).toHaveLength(1)
  return id
}
