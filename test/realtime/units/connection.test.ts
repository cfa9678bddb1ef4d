import { limits } from '@parley/contract'
import { handleCommands } from '@parley/server/realtime/connection/commands'
import { closings } from '@parley/server/realtime/protocol/codes'
import { OutgoingPublication } from '@parley/server/realtime/publication'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chat, delivered, own, pass, stopTimers } from '../hub/fixture.ts'
import { ana, openConnection } from './fixture.ts'

const { bufferedBytes } = limits.realtime
const [pingMs, pongMs, expiryGraceMs] = [25_000, 8_000, 25_000]
const isPing = (message: object) => Object.keys(message).length === 0

/** A history with one publication of this size. */
const historyOf = (bytes: number) => ({
  epoch: 'one',
  publications: [
    {
      offset: 1,
      type: 'message.new' as const,
      envelope: `"${'x'.repeat(bytes)}"`,
      messageId: null,
    },
  ],
})
const deliveryOf = (bytes: number) => {
  const envelope = `"${'x'.repeat(bytes)}"`
  return new OutgoingPublication(chat, {
    offset: null,
    type: 'typing.start',
    envelope,
    messageId: null,
  })
}

test('a waiting subscribe is known to be void once its socket is closed', async () => {
  const { memory, connection, send, connect } = await openConnection()
  await connect()
  const answer = memory.hold()
  await send({ id: 2, subscribe: { channel: chat } })
  expect(memory.isGone?.()).toBe(false)
  connection.closed()
  expect(memory.isGone?.()).toBe(true)
  answer()
  await pass()
})

test('a right that is lost while a subscribe is being answered ends that subscribe', async () => {
  const { hub, memory, connection, send, messages, connect } = await openConnection()
  await connect()
  const answer = memory.hold()
  await send({ id: 2, subscribe: { channel: chat } })
  memory.excluded.add('ana')
  memory.hold()() // only what was asked before still waits
  await hub.recheck(ana, [...connection.topics])
  answer()
  await pass()
  expect(messages().slice(1)).toEqual([{ id: 2, error: expect.objectContaining({ code: 100 }) }])
  hub.publish([memory.append(chat)])
  expect(await delivered()).toBe(0)
  expect(connection.topics).toEqual([])
})

test('frames held before the connect command count with their memory overhead', async () => {
  const { connection, closed, holdVerification } = await openConnection()
  holdVerification()
  const receive = (text: string) => connection.receive(Buffer.from(text), false)
  receive('{"id":1,"connect":{"token":"ana"}}')
  for (let count = 1; count < limits.realtime.frameBytes / 256; count++) receive('{}')
  expect(closed).toEqual([])
  receive('{}')
  expect(closed).toEqual([closings.badRequest.code])
})

/** Pings are spread over time: at 0 the first comes as early as it can, at 1 as late. */
function randomIs(value: number) {
  const random = vi.spyOn(Math, 'random').mockReturnValue(value)
  onTestFinished(() => random.mockRestore())
}

test('a client is pinged within the announced time, and again after its pong', async () => {
  stopTimers()
  randomIs(1)
  const { connect, send, messages, closed } = await openConnection({
    timings: { expiryGraceMs: 3_600_000 },
  })
  await connect()
  const pings = () => messages().filter(isPing).length
  await pass(pingMs - 1)
  expect(pings()).toBe(0)
  await pass(1)
  expect(pings()).toBe(1)
  await send({})
  await pass(pingMs - 1)
  expect(pings()).toBe(1)
  await pass(1)
  expect(pings()).toBe(2)
  await send({})
  expect(closed).toEqual([])
  await send({})
  expect(closed).toEqual([closings.badRequest.code])
})

test('a client that sends no pong in time is closed', async () => {
  const { timers } = stopTimers()
  randomIs(0)
  const { connect, closed } = await openConnection()
  await connect()
  await pass(pingMs / 2)
  await pass(pongMs - 1)
  expect(closed).toEqual([])
  await pass(1)
  expect(closed).toEqual([closings.noPong.code])
  expect(timers()).toBe(0)
})

test('an expired connection has a grace in which it can refresh', async () => {
  const { timers } = stopTimers()
  const { connect, ask, closed } = await openConnection({ timings: { pingMs: 3_600_000 } })
  await connect()
  await pass(60_000 + expiryGraceMs - 1)
  expect(closed).toEqual([])
  expect(await ask({ id: 2, refresh: { token: 'ana' } })).toMatchObject({ refresh: { ttl: 60 } })
  await pass(60_000 + expiryGraceMs - 1)
  expect(closed).toEqual([])
  await pass(1)
  expect(closed).toEqual([closings.expired.code])
  expect(timers()).toBe(0)
})

test('a client that does not read is closed once a mebibyte waits, and sent no more', async () => {
  const { connect, connection, socket, written, closed } = await openConnection()
  await connect()
  socket.bufferedAmount = bufferedBytes
  connection.deliver(deliveryOf(10))
  await pass()
  expect([written.length, closed]).toEqual([2, []])
  socket.bufferedAmount = bufferedBytes + 1
  connection.deliver(deliveryOf(10))
  await pass()
  expect([written.length, closed]).toEqual([2, [closings.slow.code]])
})

test('a requested reply may exceed the limit, until the client has read it', async () => {
  const { connect, connection, socket, closed } = await openConnection()
  await connect()
  const size = bufferedBytes - 100_000
  const wait = async (bytes: number) => {
    socket.bufferedAmount = bytes
    connection.deliver(deliveryOf(10))
    await pass()
  }
  socket.bufferedAmount = size
  connection.reply({ id: 2, history: historyOf(size) })
  await pass()
  await wait(2 * size)
  expect(closed).toEqual([])
  await wait(0)
  await wait(2 * size)
  expect(closed).toEqual([closings.slow.code])
})

test('the events of one tick may exceed the limit of waiting bytes', async () => {
  const { connect, connection, socket, closed } = await openConnection()
  await connect()
  const size = bufferedBytes / 2
  for (let count = 0; count < 3; count++) connection.deliver(deliveryOf(size))
  await pass()
  socket.bufferedAmount = 3 * size
  connection.deliver(deliveryOf(10))
  await pass()
  expect(closed).toEqual([])
})

test('a connection that is closed writes what it has, and leaves nothing behind', async () => {
  const { timers } = stopTimers()
  const parts = await openConnection()
  const { connect, connection, hub, memory, messages, closed, sessions, node, socket } = parts
  await connect()
  await parts.ask({ id: 2, subscribe: { channel: chat } })
  connection.reply({ id: 3, unsubscribe: {} })
  connection.close(closings.forced)
  expect(messages().at(-1)).toEqual({ id: 3, unsubscribe: {} })
  expect(closed).toEqual([closings.forced.code])
  expect(parts.terminated).toEqual([socket])
  expect(sessions.isEmpty).toBe(true)
  expect(node.userSockets.take(ana)).toBe(true)
  expect(timers()).toBe(0)
  hub.publish([memory.append(chat)])
  expect(await delivered()).toBe(0)
  const add = vi.spyOn(node.writeBuffer, 'add')
  connection.deliver(deliveryOf(10))
  expect(add).not.toHaveBeenCalled()
})

test('a command that fails closes its socket with 3004, and is reported', async () => {
  const { connect, closed, problems } = await openConnection({
    handle: async () => {
      throw new Error('a bug')
    },
  })
  await connect()
  expect(closed).toEqual([closings.serverError.code])
  expect(problems).toEqual(['realtime command failed'])
})

test('consecutive subscribes are handled together, other commands one by one', async () => {
  const handled: string[][] = []
  const { connect, send } = await openConnection({
    handle: (connection, commands) => {
      handled.push(commands.map(({ name }) => name))
      return handleCommands(connection, commands)
    },
  })
  await connect()
  await send(
    { id: 2, subscribe: { channel: chat } },
    { id: 3, subscribe: { channel: own } },
    { id: 4, unsubscribe: { channel: chat } },
    { id: 5, unsubscribe: { channel: own } },
    { id: 6, subscribe: { channel: chat } },
  )
  expect(handled).toEqual([
    ['connect'],
    ['subscribe', 'subscribe'],
    ['unsubscribe'],
    ['unsubscribe'],
    ['subscribe'],
  ])
})

test('sends that are refused because they are too many get no reply', async () => {
  const { connect, send, messages, closed } = await openConnection()
  await connect()
  await send(...Array.from({ length: 3_000 }, () => ({ send: {} })))
  await send({ id: 2, unsubscribe: { channel: chat } })
  await vi.waitUntil(() => messages().length > 1, { timeout: 30_000 })
  expect(messages().slice(1)).toEqual([{ id: 2, error: expect.objectContaining({ code: 111 }) }])
  expect(closed).toEqual([])
})
