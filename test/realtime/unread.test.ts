import { randomUUID } from 'node:crypto'
import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { selectCountsOfChannels } from '@parley/server/realtime/unread/counts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { whileRowLocked, withoutCleanup } from '../support/locks.ts'
import type { TopicListener } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { counts, createGroup, payloads, useListeners } from './listeners.ts'

let channelCounts = 0
const world = useWorld({
  presenceGraceSeconds: 0,
  onStatement: (statement) => {
    if (/m\.node_id, m\.app_id/.test(statement)) channelCounts += 1
  },
  timings: { typingMs: 300, beatMs: 300, reconcileMs: 300 },
})
const { listenAs, channelTopic, userTopic, newUsers } = useListeners(world)

describe('reading in real time', () => {
  test('a read sends its position to the channel and the counts to the reader', async () => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const [channel, user] = [
      await listenAs(ana, channelTopic(channelId)),
      await listenAs(ben, userTopic(ben)),
    ]
    const message = await ana.messages.send({ channelId, text: 'hi' })
    await user.until(() => counts(user, 'channel.total_unread_changed').includes(1))
    const before = user.received.length
    const countedBefore = channelCounts
    for (const reads of [1, 2]) {
      await ben.reads.mark({ channelId })
      await user.until(() => counts(user, 'channel.total_unread_changed', before).length >= reads)
    }
    // The counts of the channel's other members are not read again.
    expect([countedBefore > 0, channelCounts]).toEqual([true, countedBefore])
    await channel.untilType('read.updated', 2)
    const [first, second] = payloads(channel, 'read.updated')
    expect(first).toEqual({
      channelId,
      userId: ben.id,
      lastReadSeq: 1,
      lastReadMessageId: message.id,
      readAt: expect.any(String),
    })
    expect(second).toEqual(first)
    const read = { channelId, count: 0, version: expect.any(Number) }
    expect(payloads(user, 'channel.unread_changed').slice(-2)).toEqual([read, read])
    expect(counts(user, 'channel.unread_changed', before)).toEqual([0, 0])
    expect(counts(user, 'channel.total_unread_changed', before)).toEqual([0, 0])
  })

  test('a receipt sends its message to the channel and the counts to the reader', async () => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
    for (const text of ['b', 'c']) await ana.messages.send({ channelId, text })
    const [channel, user] = [
      await listenAs(ana, channelTopic(channelId)),
      await listenAs(ben, userTopic(ben)),
    ]
    for (const reads of [1, 2]) {
      await ben.receipts.mark({ channelId, messageId })
      await user.untilType('channel.total_unread_changed', reads)
    }
    await channel.untilType('read_receipt', 2)
    const receipt = {
      channelId,
      messageId,
      userId: ben.id,
      name: ben.id,
      image: null,
      readAt: expect.any(String),
    }
    expect(payloads(channel, 'read_receipt')).toEqual([receipt, receipt])
    const position = {
      channelId,
      userId: ben.id,
      lastReadSeq: 1,
      lastReadMessageId: messageId,
      readAt: expect.any(String),
    }
    expect(payloads(channel, 'read.updated')).toEqual([position, position])
    expect(payloads(user, 'channel.unread_changed').at(-1)).toMatchObject({ channelId, count: 2 })
    expect(payloads(user, 'channel.total_unread_changed').at(-1)).toEqual({
      count: 2,
      version: expect.any(Number),
    })
  })
})

describe('unread counts', () => {
  test('connected members receive absolute unread counts, except the sender', async () => {
    const [ana, ben] = await newUsers()
    const [channelId, other] = [await createGroup(ana, ben), await createGroup(ana, ben)]
    const [anas, bens] = [await listenAs(ana, userTopic(ana)), await listenAs(ben, userTopic(ben))]
    // Ana may still be sent the counts of joining. They come before the count of a later message.
    await ben.messages.send({ channelId: other, text: 'elsewhere' })
    await anas.until(() => counts(anas, 'channel.total_unread_changed').includes(1))
    const before = anas.received.length
    for (const text of ['a', 'b', 'c']) await ana.messages.send({ channelId, text })
    await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(3))
    expect(payloads(bens, 'channel.unread_changed').at(-1)).toMatchObject({ channelId, count: 3 })
    expect(counts(anas, 'channel.unread_changed', before)).toEqual([])
  })

  test('deleting a message and leaving a channel lower the total unread count', async () => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const bens = await listenAs(ben, userTopic(ben))
    const total = (count: number) =>
      bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
    const message = await ana.messages.send({ channelId, text: 'a' })
    await ana.messages.send({ channelId, text: 'b' })
    await total(2)
    await ana.messages.delete({ channelId, messageId: message.id })
    await total(1)
    await ana.members.remove({ channelId, userId: ben.id })
    await total(0)
    expect((await ben.reads.unreadCount()).count).toBe(0)
  })
})

test('a stale total that arrives after a newer message is corrected', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  await ana.messages.send({ channelId, text: 'hi' })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(1))
  // A slow node sends the result of an earlier read late.
  const late = createPostgresBroker({
    url: world().databaseUrl,
    nodeId: randomUUID(),
    report: (error) => console.error(error),
  })
  onTestFinished(() => late.stop())
  late.send({
    kind: 'event',
    topic: userTopic(ben),
    type: 'channel.total_unread_changed',
    payload: { count: 0 },
  })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').includes(0))
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 1)
})

test('unread counts that failed on a database error are sent once it recovers', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  const total = (count: number) =>
    bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
  await ana.messages.send({ channelId, text: 'a' })
  await total(1)
  const { db } = world()
  await whileRowLocked(
    world(),
    (sql) => sql`lock table connections in access exclusive mode`,
    async () => {
      await ana.messages.send({ channelId, text: 'b' })
      await until(async () => {
        const terminated = await db`
          select pg_terminate_backend(pid)
          from pg_stat_activity
          where datname = current_database()
            and wait_event_type = 'Lock'
            and query like '%m.app_id, m.user_id, m.channel_id%'`
        return terminated.length > 0
      })
    },
  )
  await total(2)
})

test('a user who leaves or loses a channel receives the new total', async () => {
  const [ana, ben] = await newUsers()
  const [left, deleted, kept] = [
    await createGroup(ana, ben),
    await createGroup(ana, ben),
    await createGroup(ana, ben),
  ]
  for (const channelId of [left, deleted, kept]) await ana.messages.send({ channelId, text: 'a' })
  const bens = await listenAs(ben, userTopic(ben))
  const total = (count: number) =>
    bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === count)
  await ben.members.leave({ channelId: left })
  await total(2)
  // While its members are still there.
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId: deleted })
    await total(1)
  })
})

test('a channel that was deleted before it was counted gets no counts', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  await listenAs(ben, userTopic(ben))
  const counted = { nodeId: null, channelIds: [channelId] }
  const count = async () => [
    ...(await world().pool.use((db) => selectCountsOfChannels(db, counted))),
  ]
  expect((await count()).map(({ userId }) => userId)).toEqual([ben.id])
  await ana.channels.delete({ channelId })
  expect(await count()).toEqual([])
})

test('a user who rejoins a channel at once receives its new unread count', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  for (let time = 0; time < 5; time++) {
    const before = bens.received.length
    await ana.messages.send({ channelId, text: 'before' })
    await bens.until(() => counts(bens, 'channel.total_unread_changed', before).includes(1))
    await ben.members.leave({ channelId })
    await ana.members.add({ channelId, userIds: [ben.id] })
    await ana.messages.send({ channelId, text: 'after' })
    const shown = (received: TopicListener['received']) =>
      received.findIndex(
        ({ envelope }, index) => index >= before && envelope.type === 'channel.added',
      )
    await bens.until(
      (received) =>
        shown(received) >= 0 && counts(bens, 'channel.unread_changed', shown(received)).includes(1),
    )
    await ben.reads.mark({ channelId })
    await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 0)
  }
})
