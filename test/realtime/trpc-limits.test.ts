import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { processorMs } from '../support/cpu.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'

const world = useWorld()

type Reply = {
  id: number
  error?: { message: string; data: { code: string } }
  result?: { type: string }
}

/** A bare socket of the tRPC endpoint. */
async function open({ url }: { url: string } = world(), token?: string) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/trpc?connectionParams=1`)
  onTestFinished(() => socket.terminate())
  const replies: Reply[] = []
  let pings = 0
  socket.on('message', (data) => {
    if (String(data) === 'PING') pings += 1
    else replies.push(...[JSON.parse(String(data))].flat())
  })
  const closed = once(socket, 'close').then(([code]: number[]) => code)
  await once(socket, 'open')
  const send = (message: object) => socket.send(JSON.stringify(message))
  if (token !== undefined) send({ method: 'connectionParams', data: { token } })
  return {
    socket,
    replies,
    pings: () => pings,
    closed,
    send,
    /** The type of the first result with this id, or of the error. */
    reply: (id: number, type = 'error') =>
      until(() =>
        replies.find(
          ({ result, error, ...reply }) =>
            reply.id === id && (type === 'error' ? error !== undefined : result?.type === type),
        ),
      ),
  }
}
const subscription = (id: number, topic: string, position = {}) => ({
  id,
  method: 'subscription',
  params: { path: 'events.topic', input: { topic, ...position } },
})
const topicOf = (userId: string) => topics.user(world().appId, userId)
/** Topics of channels of which the user is the only member, inserted straight into the database. */
async function insertChannels(userId: string, count: number) {
  const { db, appId } = world()
  const ids = Array.from({ length: count }, () => randomUUID())
  await db`
    insert into channels (id, app_id, cid, type, created_by, member_count)
    select given, ${appId}, given, 'group', ${userId}, 1
    from unnest(${ids}::uuid[]) given`
  await db`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, given, ${userId}, 'owner'
    from unnest(${ids}::uuid[]) given`
  return ids.map((id) => topics.channel(appId, id))
}
const tokenOf = async (id: string) => (await world().user(id)).minted.wsToken

test('a tRPC socket without a token is closed in time, with any number of PONGs', async () => {
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    timings: { connectMs: 500 },
  })
  onTestFinished(node.stop)
  const [silent, bad] = [await open(node), await open(node, 'bad')]
  expect([await silent.closed, await bad.closed]).toEqual([3502, 3502])
})

test('a tRPC socket that answers no ping is closed', async () => {
  const ana = await world().user('pinged')
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    // The token comes long before the first ping, or there would be another one after it.
    timings: { pingMs: 2_000, pongMs: 300 },
  })
  onTestFinished(node.stop)
  const { pings, closed } = await open(node, ana.minted.wsToken)
  expect(await closed).toBe(1006)
  expect(pings()).toBe(1)
})

test('a bad token is refused once, and then its socket is closed', async () => {
  const { send, reply, closed } = await open(world(), 'bad')
  send(subscription(1, topicOf('ana')))
  expect((await reply(1)).error?.data.code).toBe('INVALID_TOKEN')
  send(subscription(2, topicOf('ana')))
  expect(await closed).toBe(3500)
})

test('a revocation closes a tRPC socket, subscribed or not', async () => {
  const ana = await world().user('revoked')
  const idle = await open(world(), ana.minted.wsToken)
  idle.send({ id: 1, method: 'query', params: { path: 'service.health' } })
  await idle.reply(1) // its token is verified
  const subscribed = await open(world(), ana.minted.wsToken)
  subscribed.send(subscription(1, topicOf(ana.id)))
  await subscribed.reply(1, 'started')
  await world().backend.tokens.revoke({ userId: ana.id })
  expect([await idle.closed, await subscribed.closed]).toEqual([3503, 3503])
})

test('before its token a tRPC socket may send 4 KB', async () => {
  const { send, closed } = await open()
  send({ method: 'connectionParams', data: { token: 'x'.repeat(4_096) } })
  expect(await closed).toBe(3501)
})

test('a tRPC socket serves subscriptions and no calls', async () => {
  const { send, reply } = await open(world(), await tokenOf('ana'))
  send({ id: 1, method: 'query', params: { path: 'service.health' } })
  send({ id: 2, method: 'query', params: { path: 'events.topic', input: {} } })
  send(subscription(3, topicOf('ana')))
  expect((await reply(1)).error?.data.code).toBe('NOT_FOUND')
  expect((await reply(2)).error?.data.code).toBe('NOT_FOUND')
  await reply(3, 'started')
})

test('a tRPC socket holds a thousand subscriptions, ten of them to one topic', async () => {
  const ana = await world().user('ana')
  const known = await insertChannels(ana.id, 99)
  const wanted = [topicOf('ana'), ...known].flatMap((topic) => Array(10).fill(topic))
  const { send, reply, replies } = await open(world(), ana.minted.wsToken)
  send(wanted.slice(0, -1).map((topic, index) => subscription(index + 1, topic)))
  // Those that started first may receive meanwhile that ana came online.
  const started = () => replies.filter(({ result }) => result?.type === 'started')
  await until(() => started().length === 999)
  expect(replies.filter(({ error }) => error)).toEqual([])
  send(subscription(1_001, topicOf('ana')))
  expect((await reply(1_001)).error).toMatchObject({
    message: 'A socket has at most 10 subscriptions to one topic',
    data: { code: 'RATE_LIMITED' },
  })
  send(subscription(1_000, wanted[999]))
  await reply(1_000, 'started')
  send(subscription(1_002, topics.channel(world().appId, randomUUID())))
  expect((await reply(1_002)).error).toMatchObject({
    message: 'A socket has at most 1000 subscriptions',
    data: { code: 'RATE_LIMITED' },
  })
  send({ id: 1, method: 'subscription.stop' })
  await reply(1, 'stopped')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  await ana.channels.updateSettings({ channelId, starred: true })
  send(subscription(1_003, topicOf('ana'), { since: 0 }))
  await reply(1_003, 'data')
})

test('a frame of a tRPC socket with over a thousand messages is refused as a whole', async () => {
  const { send, reply, replies } = await open(world(), await tokenOf('ana'))
  send(Array.from({ length: 1_001 }, (_, index) => subscription(index + 1, topicOf('ana'))))
  send(subscription(2_000, topicOf('ana')))
  await reply(2_000, 'started')
  const refused = replies.filter(({ error }) => error)
  expect(refused.map(({ id }) => id)).toEqual(Array.from({ length: 1_001 }, (_, at) => at + 1))
  expect(new Set(refused.map(({ error }) => error?.message))).toEqual(
    new Set(['batch: expected at most 1,000 calls']),
  )
})

test('a tRPC subscription starts at no offset beyond the largest', async () => {
  const { send, reply } = await open(world(), await tokenOf('ana'))
  for (const [id, position] of [
    [1, { since: 2 ** 31 }],
    [2, { lastEventId: String(2 ** 31) }],
  ] as const) {
    send(subscription(id, topicOf('ana'), position))
    expect((await reply(id)).error?.data.code).toBe('VALIDATION_ERROR')
  }
})

test('a flood of tRPC messages closes its socket and costs little', async () => {
  const call = { id: 1, method: 'query', params: { path: 'nothing' } }
  const floods = [
    JSON.stringify(Array.from({ length: 15_000 }, () => call)),
    `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    `[${'1,'.repeat(500_000)}1]`,
  ]
  for (const flood of floods) {
    const { socket, closed, send, reply } = await open(world(), await tokenOf('ana'))
    send(subscription(1, topicOf('ana')))
    await reply(1, 'started')
    const attack = async () => {
      for (let count = 0; count < 3; count++) socket.send(flood)
      expect(await closed).toBe(3013)
    }
    expect(await processorMs(attack)).toBeLessThan(1_000)
  }
})

test('a tRPC socket that does not read is closed once a mebibyte waits', async () => {
  const ana = await world().user('slow')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { socket, send, replies, closed } = await open(world(), ana.minted.wsToken)
  const topic = topics.channel(world().appId, channelId)
  send(Array.from({ length: 10 }, (_, index) => subscription(index + 1, topic)))
  await until(() => replies.length === 10)
  const [onServer] = [...world().app.websocketServer.clients].slice(-1)
  const ended = new Promise<number>((resolve) => onServer?.once('close', resolve))
  socket.pause()
  // How much the operating system buffers for a socket depends on the machine.
  while (onServer?.readyState === WebSocket.OPEN)
    await ana.messages.send({ channelId, text: '🙂'.repeat(10_000) })
  expect(onServer?.bufferedAmount).toBeLessThan(4_000_000)
  socket.resume()
  expect(await closed).toBe(3008)
  await ended
})

test('a tRPC socket is served whatever its Host header says', async () => {
  const socket = new WebSocket(`${world().url.replace('http', 'ws')}/trpc`, {
    headers: { host: 'a@b:c' },
  })
  await once(socket, 'open')
  socket.send(JSON.stringify(subscription(1, topicOf('ana'))))
  const [answer] = await Promise.race([once(socket, 'message'), once(socket, 'close')])
  expect(JSON.parse(String(answer))).toMatchObject({ id: 1, result: { type: 'started' } })
  socket.terminate()
})

test('a tRPC socket is refused to pages of other sites', async () => {
  const socket = new WebSocket(`${world().url.replace('http', 'ws')}/trpc`, {
    origin: 'https://evil.example.com',
  })
  await expect(once(socket, 'open')).rejects.toThrow('403')
})
