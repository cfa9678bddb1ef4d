import { sha256 } from '@parley/server/core/hash'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createWorld, useWorld } from '../support/world.ts'
import {
  at,
  channel,
  channelIdOf,
  expectExactCounters,
  importInto,
  member,
  message,
  messageIdOf,
  post,
  user,
} from './records.ts'

const world = useWorld()

const profile = { email: 'ana@example.com', image: 'https://example.com/ana.png' }

const looks = { image: 'https://example.com/closed.png', description: 'No more soup' }

/** A channel of two, whose messages are not in the order of their times. */
const kitchen = [
  user('ana', { name: 'Ana', ...profile, custom: { plan: 'pro' } }),
  user('ben'),
  user('cem'),
  channel('kitchen', { name: 'Kitchen talk', createdBy: 'ana', custom: { floor: 2 } }),
  member('kitchen', 'ana', { role: 'owner', custom: { desk: 7 } }),
  member('kitchen', 'ben'),
  message('late', 'kitchen', { createdAt: at(9), userId: 'ben', text: 'Bye @ana' }),
  message('first', 'kitchen', { createdAt: at(1), custom: { mood: 'hungry' } }),
  message('reply', 'kitchen', { createdAt: at(5), parentId: 'first', userId: 'cem' }),
  message('nested', 'kitchen', { createdAt: at(6), parentId: 'reply' }),
  message('system', 'kitchen', { createdAt: at(4), userId: undefined, type: 'system' }),
  message('picture', 'kitchen', {
    createdAt: at(7),
    text: '',
    attachments: [{ type: 'image', url: 'https://example.com/cat.png' }],
    editedAt: at(8),
  }),
  {
    record: 'reaction' as const,
    messageId: 'first',
    userId: 'ben',
    emoji: '👍',
    createdAt: at(2),
  },
  { record: 'pin' as const, messageId: 'first', userId: 'ben', createdAt: at(3) },
  {
    record: 'read' as const,
    channelId: 'kitchen',
    userId: 'ben',
    messageId: 'first',
    createdAt: at(3),
  },
  channel('closed', { createdBy: 'cem', frozen: true, ...looks }),
  channel('direct', { type: 'messaging', name: undefined, memberIds: ['ben', 'ana'] }),
  message('hello', 'direct', { userId: 'ben' }),
]

let report: Awaited<ReturnType<typeof importInto>>
beforeAll(async () => {
  report = await importInto(world(), kitchen)
})

test('imported history is read like any other, in the order of its times', async () => {
  expect(report).toMatchObject({ lines: 18, isFinished: true, refused: 0, refusals: [] })
  const counts = { users: 3, channels: 3, members: 2, messages: 7, reactions: 1, pins: 1, reads: 1 }
  expect(report.imported).toEqual(counts)
  const [ana, ben] = await world().users('ana', 'ben')
  const channelId = channelIdOf(world(), 'kitchen')
  const { messages } = await ben.messages.list({ channelId })
  expect(messages.map(({ seq, text, userId }) => [seq, text, userId])).toEqual([
    [1, 'first', 'ana'],
    [2, 'system', 'parley.system'],
    [3, 'reply', 'cem'],
    [4, 'nested', 'ana'],
    [5, '', 'ana'],
    [6, 'Bye @ana', 'ben'],
  ])
  const [first, , , , picture, late] = messages
  expect(first).toMatchObject({
    id: messageIdOf(world(), 'first'),
    createdAt: at(1),
    replyCount: 2,
    pinned: true,
    custom: { mood: 'hungry' },
    reactions: [{ type: '👍', count: 1, own: true, users: [{ id: 'ben' }] }],
  })
  expect(picture).toMatchObject({ editedAt: at(8), updatedAt: at(8), attachments: [{}] })
  expect(late?.mentions).toEqual(['ana'])
  const replies = await ben.messages.replies({ channelId, messageId: first?.id ?? '' })
  expect(replies.messages.map(({ text }) => text)).toEqual(['reply', 'nested'])
  const pins = await ben.pins.list({ channelId })
  expect(pins.messages).toMatchObject([{ text: 'first', pinnedBy: 'ben', pinnedAt: at(3) }])
  const { readBy } = await ana.receipts.get({ channelId, messageId: first?.id ?? '' })
  expect(readBy).toMatchObject([{ userId: 'ben', readAt: at(3) }])
  const stored = await world().backend.users.get({ userId: 'ana' })
  expect(stored).toMatchObject({ ...profile, custom: { plan: 'pro' } })
  const frozen = { channelId: channelIdOf(world(), 'closed') }
  expect(await world().backend.channels.get(frozen)).toMatchObject({
    ...{ frozen: true, ...looks },
  })
  const messageId = messageIdOf(world(), 'first')
  const reacted = await world().db`select created_at from reactions where message_id = ${messageId}`
  expect(reacted).toMatchObject([{ createdAt: at(2) }])
  await expectExactCounters(world())
})

test('unread counts follow from read positions, and are 0 without one', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const listed = async (reader: typeof ana) =>
    Object.fromEntries(
      (await reader.channels.list({})).channels.map(({ id, unreadCount, memberCount }) => [
        id,
        { unreadCount, memberCount },
      ]),
    )
  const kitchenId = channelIdOf(world(), 'kitchen')
  const directId = channelIdOf(world(), 'direct')
  // One of the five after it is silent, and one is Ben's own.
  expect(await listed(ben)).toEqual({
    [kitchenId]: { unreadCount: 3, memberCount: 2 },
    [directId]: { unreadCount: 0, memberCount: 2 },
  })
  expect((await listed(ana))[kitchenId]?.unreadCount).toBe(0)
  expect(await ben.reads.unreadCount({})).toEqual({ count: 3, version: expect.any(Number) })
  const direct = await ana.channels.get({ channelId: directId })
  expect(direct).toMatchObject({ name: 'ben', lastMessage: { text: 'hello' }, createdAt: at(0) })
})

test('a second run of the same file changes nothing', async () => {
  const rows = async () => {
    const { db, appId } = world()
    return [
      await db`select * from messages where app_id = ${appId} order by id`,
      await db`select * from channels where app_id = ${appId} and deleted_at is null order by id`,
      await db`select * from members where app_id = ${appId} order by channel_id, user_id`,
      await db`select * from reactions where app_id = ${appId}`,
      await db`select * from users where app_id = ${appId} order by id`,
      await db`select * from user_streams where app_id = ${appId} order by user_id`,
    ].map((all) => [...all])
  }
  const before = await rows()
  const again = await importInto(world(), kitchen)
  expect(again.imported).toEqual({
    users: 0,
    channels: 0,
    members: 0,
    messages: 0,
    reactions: 0,
    pins: 0,
    reads: 0,
  })
  expect(again).toMatchObject({ isFinished: true, refused: 0, skipped: { messages: 7, users: 3 } })
  expect(await rows()).toEqual(before)
})

test('the replies of a thread are counted as they are stored, and not all again', async () => {
  // All is on one connection, and nothing else reads: others would report what they have read
  // for earlier tests at a moment of their own.
  const alone = await createWorld({ poolSize: 1 })
  onTestFinished(alone.stop)
  const { pool, db } = alone
  const replies = 1_200
  // Counts the entries read in the indexes that lead from a message to its replies.
  const readOfThreads = async () => {
    await pool.use((connection) => connection.unsafe('select pg_stat_force_next_flush()'))
    const [row] = await db<{ read: number }[]>`
      select sum(stat.idx_tup_read)::int as read
      from pg_stat_user_indexes stat
      join pg_index ix using (indexrelid)
      where stat.relname = 'messages'
        and pg_get_indexdef(ix.indexrelid) like '%(parent_id%'`
    return row?.read ?? 0
  }
  const before = await readOfThreads()
  await importInto(alone, [
    user('ana'),
    channel('threads'),
    message('root', 'threads'),
    ...Array.from({ length: replies }, (_, n) =>
      message(`reply ${n}`, 'threads', { createdAt: at(2), parentId: 'root' }),
    ),
  ])
  expect((await readOfThreads()) - before).toBeLessThanOrEqual(replies)
  await expectExactCounters(alone)
})

test('imported history causes no events, jobs or deliveries', async () => {
  const { db, appId } = world()
  const topics = ['kitchen', 'direct'].map((id) => `chat:${appId}:${channelIdOf(world(), id)}`)
  expect([...(await db`select type from events where topic = any(${topics})`)]).toEqual([])
  expect([...(await db`select task from staged_jobs`)]).toEqual([])
  expect([...(await db`select id from webhook_deliveries where app_id = ${appId}`)]).toEqual([])
  expect([...(await db`select key from imported_rows where app_id = ${appId}`)]).toEqual([])
})

test('a conversation goes on after an import, with the next seq', async () => {
  await importInto(world(), [
    user('dan'),
    channel('garden', { createdBy: 'dan' }),
    member('garden', 'dan'),
    message('seed', 'garden', { userId: 'dan' }),
  ])
  const [dan] = await world().users('dan')
  const channelId = channelIdOf(world(), 'garden')
  const sent = await dan.messages.send({ channelId, text: 'Still there?' })
  expect(sent).toMatchObject({ seq: 2, text: 'Still there?' })
  const again = await importInto(world(), [message('too-late', 'garden', { createdAt: at(20) })])
  expect(again.refusals).toEqual([
    { line: 1, reason: 'channelId: the channel was imported before, and takes no more records' },
  ])
  await expectExactCounters(world())
})

test('deleting the app ends its import, and later lines are not stored', async () => {
  const { operator, db, url } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Closed' })
  let resume = () => {}
  const resumed = new Promise<void>((resolve) => {
    resume = resolve
  })
  async function* slow() {
    yield `${JSON.stringify(user('first'))}\n`
    await resumed
    yield `${JSON.stringify(user('last'))}\n`
  }
  const running = post({ url, apiKey }, ReadableStream.from(slow()) as never)
  await expect.poll(() => db`select from imports where app_id = ${appId}`).toHaveLength(1)
  await operator.apps.update({ appId, enabled: false })
  resume()
  expect(await running).toMatchObject({ status: 403, body: { error: { code: 'APP_DISABLED' } } })
  expect(await db`select id from users where app_id = ${appId} and id = 'last'`).toHaveLength(0)
})

test('any number of channels may have the same name', async () => {
  const seen = new Map<string, string>()
  let pair: string[] = []
  for (let n = 0; pair.length === 0; n++) {
    const suffix = sha256(channelIdOf(world(), `same${n}`)).slice(0, 8)
    const other = seen.get(suffix)
    if (other !== undefined) pair = [other, `same${n}`]
    seen.set(suffix, `same${n}`)
  }
  const channels = pair.map((id) => channel(id, { name: 'Support' }))
  const report = await importInto(world(), channels)
  expect(report).toMatchObject({ isFinished: true, imported: { channels: 2 } })
})
