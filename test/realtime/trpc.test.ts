import { type AppRouter, type Envelope, topics } from '@parley/contract'
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { openProxy } from '../support/proxy.ts'
import { type User, useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

function clientOf({ minted }: Pick<User, 'minted'>, { url }: { url: string } = world()) {
  const socket = createWSClient({
    url: `${url.replace(/^http/, 'ws')}/trpc`,
    retryDelayMs: () => 50,
    connectionParams: { token: minted.wsToken },
    WebSocket: WebSocket as never,
  }) // the same interface
  onTestFinished(() => socket.close())
  return { socket, trpc: createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] }) }
}

type TrpcClient = ReturnType<typeof clientOf>
type Item = { id: string; data: Envelope }

/** Subscribes; resolves with the events once there are `count` of them, rejects with the error. */
const receive = (
  { trpc }: TrpcClient,
  input: { topic: string; since?: number },
  { count, onFirst }: { count: number; onFirst?: () => void },
) =>
  new Promise<Item[]>((resolve, reject) => {
    const received: Item[] = []
    const subscription = trpc.events.topic.subscribe(input, {
      onData: (item) => {
        if (received.push(item) === 1) onFirst?.()
        if (received.length < count) return
        subscription.unsubscribe()
        resolve(received)
      },
      onError: reject,
    })
  })

test('a tRPC client receives a topic from an offset on, with the offset as id', async () => {
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const topic = topics.channel(world().appId, channelId)
  await ana.messages.send({ channelId, text: 'before' })
  const goOn = async () => {
    await ben.typing.set({ channelId })
    await ana.messages.send({ channelId, text: 'after' })
  }
  const received = await receive(
    clientOf(ben),
    { topic, since: 2 },
    { count: 3, onFirst: () => void goOn() },
  )
  expect(received.map(({ id, data }) => [id, data.type])).toEqual([
    ['3', 'message.new'],
    ['3', 'typing.start'],
    ['4', 'message.new'],
  ])
})

test('a tRPC subscription survives a cut connection without loss or duplicates', async () => {
  const [ana, ben] = await world().users('ana3', 'ben3')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben3'],
  })
  const proxy = await openProxy(world().url)
  onTestFinished(() => proxy.close())
  const talk = async () => {
    for (let n = 0; n < 20; n++) {
      if (n % 5 === 4) proxy.cut()
      await ana.messages.send({ channelId, text: `${n}` })
    }
  }
  const received = await receive(
    clientOf(ben, proxy),
    { topic: topics.channel(world().appId, channelId), since: 1 },
    { count: 21, onFirst: () => void talk() },
  )
  expect(received.map(({ id }) => Number(id))).toEqual(
    Array.from({ length: 21 }, (_, index) => index + 2),
  )
  expect(proxy.cuts()).toBeGreaterThanOrEqual(4)
})

test('a tRPC subscription has the rights of a socket, and ends with them', async () => {
  const [ana, ben, cem] = await world().users('ana2', 'ben2', 'cem2')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben2'],
  })
  const topic = topics.channel(world().appId, channelId)
  await expect(receive(clientOf(cem), { topic }, { count: 1 })).rejects.toMatchObject({
    data: { code: 'FORBIDDEN' },
    shape: { code: -32_003 }, // tRPC's number for it
  })
  await expect(
    receive(clientOf({ minted: { ...ben.minted, wsToken: ben.token } }), { topic }, { count: 1 }),
  ).rejects.toMatchObject({
    data: { code: 'INVALID_TOKEN' },
  })
  await expect(receive(clientOf(ben), { topic, since: 99 }, { count: 1 })).rejects.toMatchObject({
    data: { code: 'VALIDATION_ERROR' },
  })
  const removed = receive(
    clientOf(ben),
    { topic, since: 1 },
    { count: 9, onFirst: () => void ana.members.remove({ channelId, userId: 'ben2' }) },
  )
  await expect(removed).rejects.toMatchObject({ data: { code: 'FORBIDDEN' } })
})

test('a tRPC subscription ends when its token is revoked, and its client learns why', async () => {
  const ben = await world().user('ben4')
  const topic = topics.user(world().appId, ben.id)
  await ben.channels.create({ type: 'group', name: 'Talk' })
  const revoke = () => world().backend.tokens.revoke({ userId: ben.id })
  const revoked = receive(
    clientOf(ben),
    { topic, since: 0 },
    { count: 9, onFirst: () => void revoke() },
  )
  await expect(revoked).rejects.toMatchObject({ data: { code: 'INVALID_TOKEN' } })
})
