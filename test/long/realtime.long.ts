import { fork } from 'node:child_process'
import { topics } from '@parley/contract'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { inBatches } from '../support/batches.ts'
import { upTo } from '../support/events.ts'
import { openProxy } from '../support/proxy.ts'
import { centrifugeOf, framings, listen, type TopicListener } from '../support/realtime.ts'
import { RawSocket } from '../support/socket.ts'
import { useWorld } from '../support/world.ts'

// Bare sockets answer no pings.
const world = useWorld({ timings: { pingMs: 600_000 } })
const chat = (channelId: string) => topics.channel(world().appId, channelId)
let groups = 0
const newUsers = () => world().users(`ana${++groups}`, `ben${groups}`, `cem${groups}`)
const offsets = ({ received }: TopicListener) => received.flatMap(({ offset }) => offset ?? [])

test.each(framings)(
  'a connection cut amid concurrent sends delivers each message exactly once, in order (%s)',
  async (framing) => {
    const [ana, ben, cem] = await newUsers()
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: [ben.id, cem.id],
    })
    const proxy = await openProxy(world().url)
    const client = centrifugeOf(proxy, cem, framing)
    onTestFinished(() => {
      client.disconnect()
      proxy.close()
    })
    const listener = await listen(client, chat(channelId))
    const senders = [ana, ben].map(async (user) => {
      for (let index = 0; index < 300; index++) {
        // Anywhere: in a frame's header, in an envelope, in the reply to a subscribe.
        if (index % 10 === 0) proxy.cutAfter(1 + Math.floor(Math.random() * 5_000))
        await user.messages.send({
          channelId,
          text: `${user.id} ${index} ${'x'.repeat(Math.random() * 300)}`,
        })
      }
    })
    await Promise.all(senders)
    await listener.untilType('message.new', 600)
    expect(offsets(listener)).toEqual(upTo(603, 4))
    expect(proxy.cuts()).toBeGreaterThan(10)
  },
)

test('a message whose node is killed before it publishes arrives within 10 s', async () => {
  const { ana, channelId, listener } = await listenedTalk()
  const node = fork(new URL('./node.ts', import.meta.url), [world().databaseUrl], {
    execArgv: ['--conditions=parley-source', '--import', 'tsx'],
  })
  const url = await new Promise<string>((resolve) =>
    node.on('message', (message) => resolve(String(message))),
  )
  const there = {
    headers: { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' },
    method: 'POST',
  }
  const send = (text: string) =>
    fetch(`${url}/api/channels/${channelId}/messages`, { ...there, body: JSON.stringify({ text }) })
  expect((await send('alive')).status).toBe(201)
  node.send('arm')
  const killed = new Promise((resolve) => node.on('exit', (_, signal) => resolve(signal)))
  await expect(send('last words')).rejects.toThrow()
  expect(await killed).toBe('SIGKILL')
  await listener.until(
    (received) =>
      received.some(
        ({ envelope }) =>
          envelope.type === 'message.new' && envelope.payload.message.text === 'last words',
      ),
    10_000,
  )
  expect(offsets(listener)).toEqual([3, 4])
})

test('a subscribe concurrent with a removal receives nothing sent afterwards', async () => {
  const [ana, ben] = await newUsers()
  const raw = await RawSocket.connect(world(), ben)
  for (let round = 0; round < 100; round++) {
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: [ben.id],
    })
    const id = 2 + round * 2
    const topic = chat(channelId)
    const removal = ana.members.remove({ channelId, userId: ben.id })
    const reply = await raw.ask({ id, subscribe: { channel: topic } })
    await removal
    await ana.messages.send({ channelId, text: `secret of round ${round}` })
    if (reply.subscribe)
      await raw.pushed(
        ({ channel, unsubscribe }) => channel === topic && unsubscribe?.code === 2000,
      )
    else expect(reply.error.code).toBe(103)
    expect((await raw.ask({ id: id + 1, history: { channel: topic, limit: -1 } })).error.code).toBe(
      103,
    )
  }
  expect(raw.frames.join()).not.toContain('secret')
  raw.socket.terminate()
})

test('ten thousand garbage frames close their own sockets and no others', async () => {
  const { ana, channelId, listener } = await listenedTalk()
  const garbage = fc.sample(
    fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.string({ minLength: 1, maxLength: 200 }),
      fc.json(),
    ),
    10_000,
  )
  const codes = new Map<number, number>()
  await inBatches(garbage, 100, async (frame) => {
    const raw = await RawSocket.open(world(), {
      protocols: [Math.random() < 0.5 ? 'centrifuge-json' : 'centrifuge-protobuf'],
    })
    raw.socket.send(frame)
    // Some of the garbage is a valid empty frame; this is not.
    raw.socket.send('}')
    const { code } = await raw.closed
    codes.set(code, (codes.get(code) ?? 0) + 1)
  })
  expect([...codes.keys()]).toEqual([3501])
  await ana.messages.send({ channelId, text: 'still here' })
  await listener.untilType('message.new')
})

test('2,000 sockets cut at once all recover what they missed', async () => {
  const [ana] = await newUsers()
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const proxy = await openProxy(world().url)
  const client = (index: number) => {
    const connected = centrifugeOf(proxy, ana, framings[index % 2])
    return connected
  }
  const clients: ReturnType<typeof client>[] = []
  const listeners: TopicListener[] = []
  await inBatches(upTo(2_000), 100, async (index) => {
    const each = client(index)
    clients.push(each)
    listeners.push(await listen(each, chat(channelId)))
  })
  proxy.cut()
  const sent = []
  for (let index = 0; index < 20; index++)
    sent.push(await ana.messages.send({ channelId, text: `message ${index}` }))
  await Promise.all(
    listeners.map((listener) => listener.until((received) => received.length >= 20, 60_000)),
  )
  for (const listener of listeners) expect(offsets(listener)).toEqual(sent.map(({ rev }) => rev))
  for (const each of clients) each.disconnect()
  proxy.close()
})

/** A channel of two users, with a listener for the second one. */
async function listenedTalk() {
  const [ana, ben] = await newUsers()
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  const client = centrifugeOf(world(), ben)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, chat(channelId))
  return { ana, channelId, listener }
}
