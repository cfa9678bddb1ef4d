import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { centrifugeOf, framings, listen } from '../../support/realtime.ts'
import { sample } from '../../support/scrape.ts'
import { until } from '../../support/until.ts'
import { useWorld } from '../../support/world.ts'
import { useRecovery } from './fixture.ts'

// Bare sockets answer no pings, and one does not even read.
const world = useWorld({ timings: { pingMs: 1_000_000 } })
const {
  ana,
  ben,
  connected,
  connectedBySocket,
  createLively,
  createLong,
  currentEpoch,
  outcomeOf,
} = useRecovery(world)

describe('recovering a subscription', () => {
  test('a first subscribe returns the position and no history', async () => {
    const { topic } = await createLively()
    const raw = await connected()
    expect(await raw.ask({ id: 2, subscribe: { channel: topic } })).toEqual({
      id: 2,
      subscribe: { recoverable: true, positioned: true, epoch: await currentEpoch(), offset: 5 },
    })
  })

  test('a recovery returns the requested offset and every event after it', async () => {
    const { topic, id } = await createLively()
    const raw = await connected()
    const subscribe = { channel: topic, recover: true, epoch: await currentEpoch(), offset: 3 }
    const { subscribe: result } = await raw.ask({ id: 2, subscribe })
    expect(result).toMatchObject({ was_recovering: true, recovered: true, offset: 3 })
    expect(result.publications.map(({ offset }: { offset: number }) => offset)).toEqual([4, 5])
    expect(result.publications[0].data).toMatchObject({
      type: 'message.new',
      payload: { channelId: id, message: { text: 'b' } },
    })
    await ana().messages.send({ channelId: id, text: 'd' })
    expect((await raw.pushed(({ pub }) => pub?.offset !== undefined)).push.pub.offset).toBe(6)
  })

  test('a recovery with nothing missed is reported as recovered', async () => {
    const { topic } = await createLively()
    const raw = await connected()
    const { subscribe } = await raw.ask({
      id: 2,
      subscribe: { channel: topic, recover: true, epoch: await currentEpoch(), offset: 5 },
    })
    expect(subscribe).toMatchObject({ was_recovering: true, recovered: true, offset: 5 })
    expect(subscribe.publications).toBeUndefined()
  })

  const unrecoverable: [string, (epoch: string, topic: string) => Promise<object>][] = [
    ['another epoch', async () => ({ epoch: 'other', offset: 3 })],
    ['no epoch', async () => ({ offset: 3 })],
    ['an offset above the top', async (epoch) => ({ epoch, offset: 6 })],
    [
      'events that are no longer kept',
      async (epoch, topic) => {
        await world().db`delete from events where topic = ${topic} and "offset" <= 4`
        return { epoch, offset: 3 }
      },
    ],
  ]
  test.each(unrecoverable)(
    '%s: not recovered, without publications, at the latest position; with the flag error 112',
    async (_, position) => {
      const { topic } = await createLively()
      const wanted = {
        channel: topic,
        recover: true,
        ...(await position(await currentEpoch(), topic)),
      }
      const raw = await connected()
      expect((await raw.ask({ id: 2, subscribe: { ...wanted, flag: 2 } })).error.code).toBe(112)
      expect((await raw.ask({ id: 3, subscribe: wanted })).subscribe).toEqual({
        recoverable: true,
        positioned: true,
        was_recovering: true,
        epoch: await currentEpoch(),
        offset: 5,
      })
    },
  )

  test('a node recovers recently delivered events from memory', async () => {
    const { topic, id } = await createLively()
    const first = await connected()
    await first.ask({ id: 2, subscribe: { channel: topic } })
    const { rev } = await ana().messages.send({ channelId: id, text: 'remembered' })
    await first.pushed(({ pub }) => pub?.offset === rev)
    await world().db`delete from events where topic = ${topic}`
    const second = await connected()
    const { subscribe } = await second.ask({
      id: 2,
      subscribe: { channel: topic, recover: true, epoch: await currentEpoch(), offset: rev - 1 },
    })
    expect(subscribe.publications).toHaveLength(1)
  })

  test('a frame that missed too much recovers what fits, and subscribes to all', async () => {
    const topics = await Promise.all([2000, 2000, 1000, 6].map(createLong))
    const epoch = await currentEpoch()
    const greedy = await connected()
    greedy.send(
      ...topics.map((channel, index) => ({
        id: index + 2,
        subscribe: { channel, recover: true, epoch, offset: 0 },
      })),
    )
    const answers = await Promise.all(topics.map((_, index) => greedy.reply(index + 2)))
    expect(answers.map(outcomeOf)).toEqual([
      [true, 2000, 0],
      [true, 2000, 0],
      [true, 1000, 0],
      [false, 0, 6],
    ])
  })

  test('a topic that missed too much takes nothing from the others of its frame', async () => {
    const [long, short] = [await createLong(6006), await createLong(6)]
    const epoch = await currentEpoch()
    const raw = await connected()
    const recover = (id: number, channel: string) => ({
      ...{ id, subscribe: { channel, recover: true, epoch, offset: 5 } },
    })
    raw.send(recover(2, long), recover(3, short))
    expect([await raw.reply(2), await raw.reply(3)].map(outcomeOf)).toEqual([
      [false, 0, 6006],
      [true, 1, 5],
    ])
  })

  test('a message that a node read for one client is never recovered once deleted', async () => {
    const { topic, id } = await createLively()
    const message = await ana().messages.send({ channelId: id, text: 'secret' })
    const recover = { channel: topic, recover: true, epoch: await currentEpoch() }
    const offset = message.rev - 1
    const first = await connected()
    await first.ask({ id: 2, subscribe: { ...recover, offset } })
    expect(first.frames.join()).toContain('secret')
    await ana().messages.delete({ channelId: id, messageId: message.id })
    await first.pushed(({ pub }) => pub?.data.type === 'message.deleted')
    const second = await connected()
    const { subscribe } = await second.ask({ id: 2, subscribe: { ...recover, offset } })
    expect(subscribe.publications).toHaveLength(2)
    expect(second.frames.join()).not.toContain('secret')
  })

  test('the text of a deleted message is never recovered', async () => {
    const { topic, id } = await createLively()
    const first = await connected()
    await first.ask({ id: 2, subscribe: { channel: topic } })
    const message = await ana().messages.send({ channelId: id, text: 'secret' })
    await ana().messages.delete({ channelId: id, messageId: message.id })
    await first.pushed(({ pub }) => pub?.data.type === 'message.deleted')
    const second = await connected()
    await second.ask({
      id: 2,
      subscribe: {
        channel: topic,
        recover: true,
        epoch: await currentEpoch(),
        offset: message.rev - 1,
      },
    })
    expect(second.frames.join()).not.toContain('secret')
  })
})

test.each(framings)(
  'a client that was disconnected receives what it missed, once and in order (%s)',
  async (framing) => {
    const { topic, id } = await createLively()
    const client = centrifugeOf(world(), ben(), framing)
    const listener = await listen(client, topic)
    client.disconnect()
    for (const text of ['x', 'y', 'z']) await ana().messages.send({ channelId: id, text })
    client.connect()
    await ana().messages.send({ channelId: id, text: 'now' })
    await listener.untilType('message.new', 4)
    expect(listener.received.map(({ offset }) => offset)).toEqual([6, 7, 8, 9])
    client.disconnect()
  },
)

test('a slow consumer is closed with 3008 and recovers without loss', async () => {
  const { topic, id } = await createLively()
  const slowClients = async () => {
    const text = await world().metrics.registry.metrics()
    return sample(text, 'parley_slow_consumers_total{reason="unread"}')
  }
  const before = await slowClients()
  const { clients } = world().app.websocketServer
  const others = new Set(clients)
  const raw = await connectedBySocket()
  await raw.ask({ id: 2, subscribe: { channel: topic } })
  const [socket] = [...clients].filter((client) => !others.has(client))
  raw.socket.pause()
  const text = '€'.repeat(10_000) // 30 kB
  let last = await ana().messages.send({ channelId: id, text })
  // More than the socket buffers of the kernel hold, which is megabytes. A client that still does
  // not read 5 s after the close is cut off without a code.
  while (socket?.readyState === WebSocket.OPEN) {
    const send = () => ana().messages.send({ channelId: id, text })
    const sent = await Promise.all(Array.from({ length: 25 }, send))
    last = sent.reduce((a, b) => (a.rev > b.rev ? a : b))
  }
  raw.socket.resume()
  expect((await raw.closed).code).toBe(3008)
  // The server may learn of the end after its client.
  await until(async () => (await slowClients()) === before + 1)
  const offset = Math.max(...raw.messages.map(({ push }) => push?.pub?.offset ?? 0))
  const again = await connected()
  const { subscribe } = await again.ask({
    id: 2,
    subscribe: { channel: topic, recover: true, epoch: await currentEpoch(), offset },
  })
  expect(subscribe.recovered).toBe(true)
  expect(subscribe.publications.at(-1).offset).toBe(last.rev)
})

test('an event that is larger than a history may be is sent alone', async () => {
  const { id, topic } = await createLively()
  const { db } = world()
  await db`
    insert into events (topic, "offset", type, envelope)
    select ${topic}, n, 'typing.stop', rpad('{"type":"typing.stop"}', ${limits.answerBytes + 1})
    from generate_series(6, 7) n`
  await db`
    update channels
    set rev = 7
    where id = ${id}
      and app_id = ${world().appId}`
  const [raw, epoch] = [await connected(), await currentEpoch()]
  const pageAfter = async (offset: number) => {
    const history = { channel: topic, limit: -1, since: { offset, epoch } }
    const page = await raw.ask({ id: offset, history })
    return page.history.publications.map((each: { offset: number }) => each.offset)
  }
  expect([await pageAfter(5), await pageAfter(6)]).toEqual([[6], [7]])
})
