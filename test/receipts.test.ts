import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { payloads } from './realtime/listeners.ts'
import { insertUsers } from './support/inserted.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { forbidden, invalid, notFound, refusal } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** A group of these users, in which the first has sent this many messages. */
async function talk(count: number, ...ids: string[]) {
  const [ana, ...others] = (await world().users(...ids)) as [User, ...User[]]
  const channel = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: others.map(({ id }) => id),
  })
  const messages = []
  for (let n = 1; n <= count; n++)
    messages.push((await ana.messages.send({ channelId: channel.id, text: `m${n}` })).id)
  return { channelId: channel.id, messages, ana, others }
}

test('a receipt marks everything up to a message read, and nothing later', async () => {
  const { channelId, messages, others } = await talk(5, 'r-ana', 'r-ben')
  const ben = others[0] as User
  expect(await ben.receipts.mark({ channelId, messageId: messages[2] ?? '' })).toEqual({
    success: true,
    lastReadMessageId: messages[2],
  })
  expect(await ben.channels.get({ channelId })).toMatchObject({ lastReadSeq: 3, unreadCount: 2 })
  expect(await ben.receipts.mark({ channelId, messageId: messages[0] ?? '' })).toEqual({
    success: true,
    lastReadMessageId: messages[2],
  })
  expect(await ben.channels.get({ channelId })).toMatchObject({ lastReadSeq: 3, unreadCount: 2 })
})

test('receipts give the exact time of each reader, without the author', async () => {
  const { channelId, messages, ana, others } = await talk(3, 'e-ana', 'e-ben', 'e-cem')
  const [ben, cem] = others as [User, User]
  await ben.receipts.mark({ channelId, messageId: messages[0] ?? '' })
  await cem.reads.mark({ channelId })
  await ben.reads.mark({ channelId })
  const marks = await world().db<{ userId: string; seq: number; readAt: string }[]>`
    select user_id, seq, read_at
    from read_marks
    where channel_id = ${channelId}
    order by read_at`
  expect(marks.map(({ userId, seq }) => [userId, seq])).toEqual([
    ['e-ben', 1],
    ['e-cem', 3],
    ['e-ben', 3],
  ])
  const [first, second, third] = marks.map(({ readAt }) => readAt)
  const receipt = (messageId = '') => ana.receipts.get({ channelId, messageId })
  expect(await receipt(messages[0])).toEqual({
    readBy: [
      { userId: 'e-ben', name: 'e-ben', image: null, readAt: first },
      { userId: 'e-cem', name: 'e-cem', image: null, readAt: second },
    ],
    readCount: 2,
    totalMembers: 3,
  })
  expect((await receipt(messages[1])).readBy.map(({ userId, readAt }) => [userId, readAt])).toEqual(
    [
      ['e-cem', second],
      ['e-ben', third],
    ],
  )
  // A repeated mark is sent with the time of the first read, not of the repetition.
  const client = centrifugeOf(world(), ana)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, topics.channel(world().appId, channelId))
  for (const messageId of messages) await ben.receipts.mark({ channelId, messageId })
  await listener.untilType('read_receipt', 3)
  const again = [first, third, third].map((readAt) => ({ userId: 'e-ben', readAt }))
  expect(payloads(listener, 'read_receipt')).toMatchObject(again)
})

test('authors are not counted as readers of their own messages', async () => {
  const { channelId, messages, ana } = await talk(2, 's-ana', 's-ben')
  await ana.reads.mark({ channelId })
  expect(await ana.receipts.get({ channelId, messageId: messages[1] ?? '' })).toEqual({
    readBy: [],
    readCount: 0,
    totalMembers: 2,
  })
})

test('a receipt query omits messages that are unknown, deleted or in another channel', async () => {
  const { channelId, messages, ana, others } = await talk(4, 'q-ana', 'q-ben')
  const elsewhere = await talk(1, 'q-ana', 'q-ben')
  const [first = '', second = '', third = '', fourth = ''] = messages
  await others[0]?.receipts.mark({ channelId, messageId: second })
  await ana.messages.delete({ channelId, messageId: third })
  const unknown = '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90'
  const { receipts } = await ana.receipts.query({
    channelId,
    messageIds: [first, second, third, fourth, first, unknown, elsewhere.messages[0] ?? ''],
  })
  expect(Object.keys(receipts).sort()).toEqual([first, second, fourth].sort())
  expect(receipts[second]).toMatchObject({ readCount: 1, readers: [{ userId: 'q-ben' }] })
  expect(receipts[fourth]).toEqual({ readCount: 0, readers: [] })
  expect(await ana.receipts.query({ channelId, messageIds: [] })).toEqual({ receipts: {} })
  expect(
    await refusal(ana.receipts.query({ channelId, messageIds: Array(201).fill(first) })),
  ).toEqual(invalid)
  expect(await refusal(ana.receipts.get({ channelId, messageId: third }))).toEqual(notFound)
  expect(
    await refusal(ana.receipts.get({ channelId, messageId: elsewhere.messages[0] ?? '' })),
  ).toEqual(notFound)
})

test('at most 100 readers are shown, and all are counted', async () => {
  const { db, appId } = world()
  const { channelId, messages, ana } = await talk(2, 'c-ana')
  const extras = await insertUsers(world(), 'extra', 150)
  await db`
    insert into members (app_id, channel_id, user_id, role, last_read_seq)
    select ${appId}, ${channelId}, given, 'member', case when given < 'extra12' then 1 else 2 end
    from unnest(${extras}::text[]) given`
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, last_read_seq
    from members
    where channel_id = ${channelId} and user_id like 'extra%'`
  await db`update channels set member_count = 151 where id = ${channelId}`
  const early = await ana.receipts.get({ channelId, messageId: messages[0] ?? '' })
  expect([early.readBy.length, early.readCount, early.totalMembers]).toEqual([100, 150, 151])
  // Those who have read farthest: 127 have read more than the others.
  expect(early.readBy.filter(({ userId }) => userId < 'extra12')).toEqual([])
  const behind = extras.filter((id) => id < 'extra12').length
  const late = await ana.receipts.query({ channelId, messageIds: messages })
  expect(late.receipts[messages[1] ?? '']?.readCount).toBe(150 - behind)
})

test('the readers of many messages are each counted, however far members have read', async () => {
  const { db, appId } = world()
  const { channelId, messages, ana } = await talk(30, 'm-ana')
  const members = await insertUsers(world(), 'passing', 80)
  await db`
    insert into members (app_id, channel_id, user_id, role, last_read_seq)
    select ${appId}, ${channelId}, given, 'member', (n * 17) % 24
    from unnest(${members}::text[]) with ordinality as passing (given, n)`
  const counts = await db<{ id: string; count: number }[]>`
    select msg.id, count(m)::int
    from messages msg
    left join members m
      on m.channel_id = msg.channel_id
      and m.last_read_seq >= msg.seq
      and m.user_id <> msg.user_id
    where msg.channel_id = ${channelId}
    group by msg.id`
  const { receipts } = await ana.receipts.query({ channelId, messageIds: messages.toReversed() })
  const shown = Object.entries(receipts).map(([id, { readCount }]) => [id, readCount])
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(counts.map(({ id, count }) => [id, count])),
  )
  expect(Object.keys(receipts)).toHaveLength(30)
})

test('read status comes in pages, each with where to go on', async () => {
  const ids = ['p-ana', 'p-ben', 'p-cem']
  const { channelId, ana } = await talk(1, ...ids)
  const seen: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ana.receipts.status({ channelId, limit: 2, cursor: cursor ?? undefined })
    seen.push(...page.members.map(({ userId }) => userId))
    sizes.push(page.members.length)
    cursor = page.nextCursor
  }
  expect([seen.toSorted(), sizes]).toEqual([ids, [2, 1]])
})

test('read status shows how far each member has read', async () => {
  const { channelId, messages, ana, others } = await talk(3, 't-ana', 't-ben', 't-cem')
  await others[0]?.receipts.mark({ channelId, messageId: messages[1] ?? '' })
  const { members } = await ana.receipts.status({ channelId })
  expect(members.sort((a, b) => a.userId.localeCompare(b.userId))).toEqual([
    { userId: 't-ana', name: 't-ana', image: null, lastReadMessageId: messages[2], lastReadSeq: 3 },
    { userId: 't-ben', name: 't-ben', image: null, lastReadMessageId: messages[1], lastReadSeq: 2 },
    { userId: 't-cem', name: 't-cem', image: null, lastReadMessageId: null, lastReadSeq: 0 },
  ])
})

test('readers of a channel get its receipts, and only members mark messages', async () => {
  const { channelId, messages, ana } = await talk(1, 'p-ana', 'p-ben')
  const [eve, messageId = ''] = [await world().user('p-eve'), messages[0]]
  for (const call of [
    () => eve.receipts.mark({ channelId, messageId }),
    () => eve.receipts.get({ channelId, messageId }),
    () => eve.receipts.query({ channelId, messageIds: [messageId] }),
    () => eve.receipts.status({ channelId }),
  ]) {
    expect(await refusal(call())).toEqual(forbidden)
  }
  expect(await refusal(ana.receipts.mark({ channelId, messageId: channelId }))).toEqual(notFound)
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  const { id } = await ana.messages.send({ channelId: open.id, text: 'hi' })
  expect(await eve.receipts.get({ channelId: open.id, messageId: id })).toMatchObject({
    readCount: 0,
    totalMembers: 1,
  })
  expect(await refusal(eve.receipts.mark({ channelId: open.id, messageId: id }))).toEqual(forbidden)
  const { token } = await (await world().stranger()).tokens.create({ userId: 'p-ana' })
  expect(await refusal(world().api({ token }).receipts.get({ channelId, messageId }))).toEqual(
    notFound,
  )
})
