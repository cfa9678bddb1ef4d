import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits, topics } from '@parley/contract'
import { closings } from '@parley/server/realtime/protocol/codes'
import { CountedSocket } from '@parley/server/realtime/sockets/counted-socket'
import { TrpcSocket } from '@parley/server/realtime/trpc/socket'
import { expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { appId, chat, pass, stopTimers } from '../hub/fixture.ts'
import { ana, createNode, createSocket } from './fixture.ts'

const { bufferedBytes, commandBytes, frameBytes, subscriptionsPerTopic, topicsPerSocket } =
  limits.realtime
const frame = (bytes: number) => Buffer.alloc(bytes, 'x')

/** A socket of the tRPC endpoint on a node of its own, and the frames that its adapter gets. */
async function openSocket(options: Parameters<typeof createNode>[0] = {}) {
  const parts = await createNode(options)
  const { socket, written, closed } = createSocket()
  const bare = Object.assign(new EventEmitter(), socket)
  // These are only the parts of a socket that this class uses.
  const trpc = new TrpcSocket(bare as unknown as WebSocket, parts.node)
  const passed: number[] = []
  trpc.on('message', (data: Buffer) => passed.push(data.length))
  const receive = (bytes: Buffer) => void bare.emit('message', bytes, false)
  /** The first message, and the token that the adapter finds in it. */
  const connect = async (token = 'ana') => {
    receive(frame(10))
    await trpc.authenticate(token)
  }
  // The close is noted by the socket that was copied.
  bare.close = (code: number) => {
    bare.readyState = 2
    closed.push(code)
  }
  return { ...parts, trpc, bare, written, closed, passed, receive, connect }
}

test('before its token is verified a tRPC socket passes on one short message', async () => {
  const { trpc, receive, passed, closed, holdVerification } = await openSocket()
  const verify = holdVerification()
  receive(frame(commandBytes))
  const verified = trpc.authenticate('ana')
  receive(frame(frameBytes - 256))
  receive(frame(1))
  expect(passed).toEqual([commandBytes])
  verify()
  await verified
  await nextTurn()
  expect(passed).toEqual([commandBytes, frameBytes - 256, 1])
  expect(closed).toEqual([])
  const long = await openSocket()
  long.receive(frame(commandBytes + 1))
  expect([long.passed, long.closed]).toEqual([[], [closings.badRequest.code]])
})

test('a tRPC socket has its user before the database was asked for their generation', async () => {
  stopTimers()
  const { node } = await createNode()
  // A server creates one like this; the types only know how clients do.
  const socket = new CountedSocket(...([null, undefined, {}] as unknown as [null]))
  const register = () => new Promise<never>(() => {})
  const trpc = new TrpcSocket(socket, { ...node, register })
  void trpc.authenticate('ana')
  await pass()
  expect(socket.user).toMatchObject({ userId: 'ana' })
})

test('a tRPC socket whose token is being verified may send one frame in all', async () => {
  const { trpc, receive, closed, holdVerification } = await openSocket()
  holdVerification()
  receive(frame(10))
  void trpc.authenticate('ana')
  receive(frame(frameBytes))
  receive(frame(1))
  expect(closed).toEqual([closings.badRequest.code])
})

test('frames held until a token is verified count with their memory overhead', async () => {
  const { trpc, receive, closed, holdVerification } = await openSocket()
  holdVerification()
  receive(frame(10))
  void trpc.authenticate('ana')
  for (let count = 0; count < frameBytes / 256; count++) receive(frame(0))
  expect(closed).toEqual([])
  receive(frame(0))
  expect(closed).toEqual([closings.badRequest.code])
})

test('a tRPC socket of a revoked token passes one message and is closed at the next', async () => {
  const { node, connect, receive, passed, closed, bare } = await openSocket()
  vi.spyOn(node, 'register').mockResolvedValue(1)
  await connect()
  receive(frame(commandBytes))
  expect([passed, closed]).toEqual([[10, commandBytes], []])
  receive(frame(10))
  expect([passed, closed]).toEqual([[10, commandBytes], [closings.invalidToken.code]])
  expect(node.userSockets.take(ana)).toBe(true)
  bare.emit('close')
})

test('a tRPC socket counts until it is closed, and one too many is refused', async () => {
  const { node, connect, bare, closed } = await openSocket()
  await connect()
  expect(node.userSockets.take(ana)).toBe(false)
  bare.emit('close')
  expect(node.userSockets.take(ana)).toBe(true)
  const second = await openSocket()
  second.node.userSockets.take(ana)
  await second.connect()
  expect([closed, second.closed]).toEqual([[], [closings.tooManySockets.code]])
  expect(second.terminated).toHaveLength(1)
  // Their user is not shown as online for it.
  expect(second.sessions.has(ana)).toBe(false)
})

test('a tRPC socket that closes while its token is verified is not counted', async () => {
  const { trpc, node, sessions, receive, bare, holdVerification } = await openSocket()
  const verify = holdVerification()
  receive(frame(10))
  const verified = trpc.authenticate('ana')
  bare.readyState = 3
  bare.emit('close')
  verify()
  await verified
  expect([sessions.has(ana), node.userSockets.take(ana)]).toEqual([false, true])
})

test('a tRPC socket is a session of its user until it closes, with no subscription', async () => {
  const { connect, sessions, closed, bare } = await openSocket()
  await connect()
  for (const session of sessions.of(ana)) session.close(closings.forced)
  expect(closed).toEqual([closings.forced.code])
  bare.emit('close')
  expect(sessions.has(ana)).toBe(false)
})

test('a tRPC socket of a revoked token is no session, and gives up its place once', async () => {
  const { node, sessions, connect, bare } = await openSocket()
  const { register } = node
  vi.spyOn(node, 'register').mockImplementation(
    async (session) => Number(await register(session)) + 1,
  )
  await connect()
  expect([sessions.has(ana), node.userSockets.take(ana)]).toEqual([false, true])
  bare.emit('close')
  expect(node.userSockets.take(ana)).toBe(false)
})

test('a tRPC socket that closes while its generation is read is not counted', async () => {
  const { timers } = stopTimers()
  const { node, sessions, connect, bare } = await openSocket()
  const { register } = node
  vi.spyOn(node, 'register').mockImplementation((session) => {
    const registered = register(session)
    bare.readyState = 3
    bare.emit('close')
    return registered
  })
  await connect()
  expect([node.userSockets.take(ana), sessions.has(ana)]).toEqual([true, false])
  expect(timers()).toBe(0)
})

test('a tRPC socket is closed in time without a token, and after its token expired', async () => {
  const { timers } = stopTimers()
  const [silent, connected] = [await openSocket(), await openSocket()]
  await connected.connect()
  await pass(silent.node.timings.connectMs - 1)
  expect(silent.closed).toEqual([])
  await pass(1)
  expect(silent.closed).toEqual([closings.stale.code])
  const { connectMs, expiryGraceMs } = connected.node.timings
  await pass(60_000 + expiryGraceMs - connectMs - 1)
  expect(connected.closed).toEqual([])
  await pass(1)
  expect(connected.closed).toEqual([closings.expired.code])
  const left = await openSocket()
  await left.connect()
  left.bare.emit('close')
  expect(timers()).toBe(0)
})

test('a tRPC socket may leave a mebibyte unread, besides the events it recovers', async () => {
  const { trpc, connect, bare, memory, written, closed } = await openSocket()
  await connect()
  bare.bufferedAmount = bufferedBytes
  trpc.send('a')
  expect([written, closed]).toEqual([['a'], []])
  memory.append(chat)
  const items = trpc.subscribe({ topic: chat, since: 0, signal: undefined })
  await items.next()
  bare.bufferedAmount = bufferedBytes + 500
  trpc.send('b')
  expect(written).toEqual(['a', 'b'])
  bare.bufferedAmount = 0
  trpc.send('c')
  bare.bufferedAmount = bufferedBytes + 500
  trpc.send('d')
  expect([written, closed]).toEqual([['a', 'b', 'c'], [closings.slow.code]])
})

test('messages of a tRPC socket cost by their objects and their length', async () => {
  const messages = [Buffer.from('{[{'.repeat(250)), Buffer.alloc(250 * 1_024)]
  for (const message of messages) {
    const { connect, receive, closed, passed } = await openSocket()
    await connect()
    for (let count = 0; count < 9; count++) {
      receive(message)
      await nextTurn()
    }
    expect([passed.length, closed]).toEqual([10, []])
    for (let count = 0; count < 3; count++) {
      receive(message)
      await nextTurn()
    }
    expect(closed).toEqual([closings.tooManyRequests.code])
    expect(passed.length).toBeLessThan(12)
  }
})

test('a subscription of a tRPC socket that was stopped makes room for another', async () => {
  const { trpc, connect } = await openSocket()
  await connect()
  const open = (topic: string, signal?: AbortSignal) => trpc.subscribe({ topic, signal }).next()
  const known = Array.from({ length: topicsPerSocket / subscriptionsPerTopic }, () =>
    topics.channel(appId, randomUUID()),
  )
  const [first = ''] = known
  const [last = '', ...others] = known
    .flatMap((topic) => Array<string>(subscriptionsPerTopic).fill(topic))
    .reverse()
  const aborts = Array.from({ length: topicsPerSocket }, () => new AbortController())
  const opened = others.map((topic, index) => open(topic, aborts[index]?.signal))
  await expect(open(first)).rejects.toThrow(/to one topic/)
  opened.push(open(last, aborts.at(-1)?.signal))
  const ended = Promise.allSettled(opened)
  await expect(open(chat)).rejects.toThrow(/at most 1000 subscriptions$/)
  await pass() // now all wait for an event
  for (const abort of aborts) abort.abort()
  expect((await ended).every(({ status }) => status === 'rejected')).toBe(true)
  const again = new AbortController()
  const next = open(first, again.signal)
  await pass()
  again.abort()
  await expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
