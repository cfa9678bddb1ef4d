import { limits, topics } from '@parley/contract'
import { createDeltas } from '@parley/server/realtime/streams/deltas'
import { createTurns } from '@parley/server/realtime/turns'
import { expect, onTestFinished, test } from 'vitest'
import { payloads } from '../realtime/listeners.ts'
import { channelEventsOf, upTo } from '../support/events.ts'
import { insertUsers } from '../support/inserted.ts'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'
import { never, spliced, useStreams } from './fixture.ts'

/** The node of these tests takes appends, and never stores them by itself. */
const timings = { streamStoreMs: never, reconcileMs: never, deltaMs: never }
const { world, users, begin, newChannel } = useStreams({ timings })

/** Listens for what ana receives of a channel, from this node or another. */
const listenTo = async (channelId: string, node: { url: string } = world()) => {
  const client = centrifugeOf(node, users().ana)
  onTestFinished(() => client.disconnect())
  return listen(client, topics.channel(world().appId, channelId))
}
/** Another node on the same database. */
const otherNode = async (
  given: Partial<Record<keyof typeof timings | 'streamQuietMs' | 'streamLongestMs', number>>,
) => {
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    timings: { ...timings, ...given },
  })
  onTestFinished(node.stop)
  return node
}

test('subscribers are sent what is appended at once, and the whole text at the end', async () => {
  const channelId = await newChannel()
  const listener = await listenTo(channelId)
  const { append, finish, messageId } = await begin({ channelId })
  await append(0, 'Hello')
  await append(0, 'Hello')
  await append(5, ' world')
  await append(11, '')
  await listener.until((received) => received.length === 3)
  expect(payloads(listener, 'message.delta')).toEqual([
    { channelId, messageId, at: 0, text: 'Hello' },
    { channelId, messageId, at: 5, text: ' world' },
  ])
  await finish()
  await listener.untilType('message.updated')
  expect(listener.types).toEqual([
    'message.new',
    'message.delta',
    'message.delta',
    'message.updated',
  ])
  expect(listener.received.at(-1)?.envelope.payload).toMatchObject({
    message: { text: 'Hello world', streaming: false },
  })
})

test('two nodes that take appends in turns make one text, for subscribers of both', async () => {
  const node = await otherNode({})
  const channelId = await newChannel()
  const listeners = [await listenTo(channelId), await listenTo(channelId, node)]
  const { append, finish, messageId, ref } = await begin({ channelId })
  const elsewhere = node.api({ token: users().bot.token })
  let at = 0
  for (const [index, text] of ['one ', 'two ', 'three ', 'four '].entries()) {
    const { length } =
      index % 2 === 0
        ? await append(at, text)
        : await elsewhere.streams.append({ ...ref, at, text })
    at = length
  }
  const { text } = await finish()
  expect(text).toBe('one two three four ')
  for (const listener of listeners) {
    await listener.untilType('message.updated')
    await listener.until(() => payloads(listener, 'message.delta').length === 4)
    expect(spliced(listener, messageId)).toBe(text)
  }
})

test('a text that grows is stored now and then, so that users who join see it', async () => {
  const node = await otherNode({ streamStoreMs: 50 })
  const elsewhere = node.api({ token: users().bot.token })
  const { append, get, ref, channelId } = await begin()
  await elsewhere.streams.append({ ...ref, at: 0, text: 'so far' })
  await until(async () => (await get()).text === 'so far')
  expect(await get()).toMatchObject({ streaming: true, mentions: [] })
  await append(6, ', so good')
  await elsewhere.streams.append({ ...ref, at: 15, text: '.' })
  await until(async () => (await get()).text === 'so far, so good.')
  const events = await channelEventsOf(world(), channelId)
  expect(events.filter(({ type }) => type === 'message.updated')).toHaveLength(2)
})

test('a text that grows is stored in time, although the clock was set back', async () => {
  const node = await otherNode({ streamStoreMs: 50 })
  const { get, ref } = await begin()
  await world().db`
    update message_streams
    set stored_at = clock_timestamp() + interval '1 hour'
    where message_id = ${ref.messageId}`
  const elsewhere = node.api({ token: users().bot.token })
  await elsewhere.streams.append({ ...ref, at: 0, text: 'so far' })
  await until(async () => (await get()).text === 'so far')
})

test('text that a node took before it died is stored by another', async () => {
  const { append, get, finish } = await begin()
  await append(0, 'acknowledged, @ana')
  const storing = await otherNode({ streamStoreMs: 20, reconcileMs: 20, streamQuietMs: never })
  await until(async () => (await get()).text === 'acknowledged, @ana')
  expect(await get()).toMatchObject({ streaming: true, mentions: [] })
  await append(18, '!')
  await otherNode({ streamStoreMs: 20, reconcileMs: 20, streamQuietMs: 100 })
  await until(async () => (await get()).interrupted)
  const interrupted = await get()
  expect(interrupted).toMatchObject({
    text: 'acknowledged, @ana!',
    streaming: false,
    interrupted: true,
    mentions: ['ana'],
  })
  expect(await finish()).toEqual(interrupted)
  expect(await append(18, '!')).toEqual({ length: 19 })
  await expect(append(19, '?')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(storing.url).not.toBe(world().url)
})

test('an edit of the text completes a message that was interrupted', async () => {
  const { append, get, ref } = await begin()
  await append(0, 'half')
  await otherNode({ streamStoreMs: 20, reconcileMs: 20, streamQuietMs: 100 })
  await until(async () => (await get()).interrupted)
  const bot = users().bot
  expect(await bot.messages.edit({ ...ref, custom: { tries: 2 } })).toMatchObject({
    interrupted: true,
  })
  const whole = await bot.messages.edit({ ...ref, text: 'half' })
  expect(whole).toMatchObject({ text: 'half', streaming: false, custom: { tries: 2 } })
  expect(whole).not.toHaveProperty('interrupted')
  expect(await get()).toMatchObject({ rev: whole.rev, editedAt: whole.editedAt })
  expect(await bot.messages.edit({ ...ref, text: 'half' })).toEqual(whole)
})

test('a message is interrupted after the longest time, whoever keeps it alive', async () => {
  const { append, get } = await begin()
  await append(0, 'and so on')
  await otherNode({
    streamStoreMs: 20,
    reconcileMs: 20,
    streamQuietMs: never,
    streamLongestMs: 100,
  })
  await until(async () => (await get()).interrupted)
  expect(await get()).toMatchObject({ text: 'and so on', streaming: false })
  await expect(append(9, '')).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('no streamed text is left of a channel that is deleted', async () => {
  const { append, messageId, channelId } = await begin()
  await append(0, 'gone')
  const { db } = world()
  // An API call does this, too, but wakes the cleanup, which may take long to come by.
  await db`
    update channels
    set deleted_at = now()
    where id = ${channelId}`
  await otherNode({ streamStoreMs: 20, reconcileMs: 20, streamQuietMs: never })
  await until(
    async () =>
      (
        await db`
          select
          from message_streams
          where message_id = ${messageId}`
      ).length === 0,
  )
})

test('an app with many messages that grow keeps no other app waiting', async () => {
  const inTurn = createTurns(2)
  const order: string[] = []
  const open: (() => void)[] = []
  const work = (app: string, name: string) =>
    inTurn(app, () => {
      order.push(name)
      return new Promise<void>((resolve) => open.push(resolve))
    })
  const all = [
    ...upTo(6).map((n) => work('busy', `busy ${n}`)),
    ...upTo(2).map((n) => work('other', `other ${n}`)),
  ]
  expect(order).toEqual(['busy 1', 'busy 2'])
  const failed = inTurn('third', () => Promise.reject(new Error())).catch(() => 'failed')
  for (const count of upTo(all.length)) {
    await until(() => order.length >= count)
    open[count - 1]?.()
  }
  expect(await failed).toBe('failed')
  await Promise.all(all)
  const others = ['other 1', 'busy 4', 'other 2', 'busy 5']
  expect(order).toEqual(['busy 1', 'busy 2', 'busy 3', ...others, 'busy 6'])
})

test('appends to a large channel that do not follow each other are not joined', () => {
  const sent: unknown[] = []
  const publisher = { broadcast: ({ payload }: { payload?: unknown }) => void sent.push(payload) }
  const deltas = createDeltas({ publisher: publisher as never, pauseMs: never }) // one kind of note
  const ref = { appId: 'app', channelId: 'c', messageId: 'm', isLarge: true, cause: {} }
  // Another node has taken "two" and "three" between those of this one.
  const texts: [number, string][] = [
    [0, 'zero'],
    [4, 'one'],
    [15, 'four'],
    [19, 'five'],
  ]
  for (const [at, text] of texts) deltas.add({ ...ref, at, text })
  deltas.stop()
  expect(sent).toMatchObject([
    { at: 0, text: 'zero' },
    { at: 4, text: 'one' },
    { at: 15, text: 'fourfive' },
  ])
})

test('a large channel is sent appends together, and no part of the text is missing', async () => {
  const channelId = await newChannel()
  const extras = await insertUsers(world(), 'fan-', limits.largeChannelMembers)
  await users().ana.members.add({ channelId, userIds: extras })
  const listener = await listenTo(channelId)
  const { ref, messageId } = await begin({ channelId })
  const node = await createWorld({ databaseUrl: world().databaseUrl, timings })
  const { streams } = node.api({ token: users().bot.token })
  let at = 0
  for (const text of ['one ', 'two ', 'three ', 'four'])
    at = (await streams.append({ ...ref, at, text })).length
  await listener.untilType('message.delta')
  expect(payloads(listener, 'message.delta')).toHaveLength(1)
  // Its pause has no end, but the node sends the rest before it stops.
  await node.stop()
  await listener.untilType('message.delta', 2)
  expect(payloads(listener, 'message.delta')).toEqual([
    { channelId, messageId, at: 0, text: 'one ' },
    { channelId, messageId, at: 4, text: 'two three four' },
  ])
})
