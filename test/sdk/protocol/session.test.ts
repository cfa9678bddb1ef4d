import { expect, test } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'
import { connectionToTest, publication } from '../../support/scripted/peer.ts'

const TOKEN_EXPIRED = { code: 109, message: 'token expired' }
const INTERNAL = { code: 100, message: 'internal server error', temporary: true }
const HOUR_MS = 3_600_000

test('the connect command and the topics wanted before it share one frame', async () => {
  const { opened, subscribe, provider } = connectionToTest()
  provider.token = async () => 'secret'
  subscribe('a')
  subscribe('b')
  const socket = await opened()
  expect(socket.frames).toEqual([])
  socket.onopen()
  await quiet()
  expect(socket.frames).toEqual([
    [
      { id: 1, connect: { token: 'secret', name: 'parley' } },
      { id: 2, subscribe: { channel: 'a' } },
      { id: 3, subscribe: { channel: 'b' } },
    ],
  ])
})

test.each([1000, 1006, 3000, 3001, 3008, 3012, 3499, 4000, 4499])(
  'after a close with code %i the client reconnects with the same token',
  async (code) => {
    const { opened, reopened, status, minted, clock } = connectionToTest()
    const first = await opened()
    await first.accept()
    await clock.forward(HOUR_MS)
    first.onclose({ code, reason: '' })
    expect([status(), minted.length]).toEqual(['offline', 1])
    await (await reopened()).accept()
    expect([status(), minted.length]).toEqual(['live', 1])
  },
)

test.each([1009, 3500, 3501, 3503, 3999, 4500, 4999])(
  'after a final close with code %i the client gets a new token first',
  async (code) => {
    const { opened, reopened, status, minted, clock } = connectionToTest()
    const first = await opened()
    await first.accept()
    await clock.forward(HOUR_MS)
    first.onclose({ code, reason: 'no' })
    await quiet()
    expect([status(), minted.length]).toEqual(['offline', 2])
    await (await reopened()).accept()
    expect(status()).toBe('live')
  },
)

test.each([
  [3001, 1],
  [3500, 2],
])(
  'a disconnect push with code %i counts like a close, and ends the frame',
  async (code, tokens) => {
    const { opened, subscribe, status, minted, clock } = connectionToTest()
    const { story } = subscribe('a')
    const socket = await opened()
    await socket.accept()
    socket.say(socket.subscribed('a'))
    await clock.forward(HOUR_MS)
    socket.say(
      publication('a', 'in time'),
      { push: { disconnect: { code, reason: 'bye' } } },
      publication('a', 'late'),
    )
    await quiet()
    expect([status(), socket.isClosed, minted.length]).toEqual(['offline', true, tokens])
    expect(story).toEqual(['from one 0', 'event in time'])
  },
)

test.each([
  [TOKEN_EXPIRED, 2],
  [{ code: 101, message: 'unauthorized' }, 2],
  [INTERNAL, 1],
])('a connect that is answered with %j is repeated after a pause', async (error, tokens) => {
  const { opened, reopened, status, minted, connection, clock } = connectionToTest()
  await (await opened()).accept()
  await clock.forward(HOUR_MS)
  connection.handleSleep()
  const second = await reopened()
  second.onopen()
  await quiet()
  second.say({ id: second.asked('connect').id, error })
  await quiet()
  const { lastError } = connection.state.getSnapshot()
  expect([status(), second.isClosed, minted.length]).toEqual(['offline', true, tokens])
  expect(lastError?.message).toContain(error.message)
  await (await reopened()).accept()
  expect(status()).toBe('live')
})

test('a ping is answered, if the server wants that, and a missed one ends the socket', async () => {
  const { opened, reopened, status, clock } = connectionToTest()
  const first = await opened()
  await first.accept({ ping: 25, pong: true })
  const before = first.frames.length
  await clock.forward(25_000)
  first.say({})
  await quiet()
  expect(first.frames.slice(before)).toEqual([[{}]])
  await clock.forward(34_900)
  expect(status()).toBe('live')
  await clock.forward(200)
  expect([status(), first.isClosed]).toEqual(['offline', true])
  const second = await reopened()
  await second.accept({ ping: 25 })
  second.say({})
  await quiet()
  expect(second.frames).toHaveLength(1)
})

test('a server that announces pings and never sends anything is given up', async () => {
  const { opened, status, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ ping: 25 })
  await clock.forward(34_900)
  expect(status()).toBe('live')
  await clock.forward(200)
  expect([status(), socket.isClosed]).toEqual(['offline', true])
})

test('any message proves the connection, and a server without pings need not ping', async () => {
  const { opened, reopened, status, clock } = connectionToTest()
  const first = await opened()
  await first.accept({ ping: 25 })
  for (let minute = 0; minute < 3; minute++) {
    await clock.forward(30_000)
    first.say(publication('unknown', 'anything'))
  }
  expect(status()).toBe('live')
  first.onclose({ code: 1006, reason: '' })
  await (await reopened()).accept()
  await clock.forward(HOUR_MS)
  expect(status()).toBe('live')
})

test('a socket that does not open, or where a command gets no answer, is given up', async () => {
  const { opened, reopened, status, connection, clock } = connectionToTest()
  const silent = await opened()
  await clock.forward(4_900)
  expect(status()).toBe('connecting')
  await clock.forward(200)
  expect([status(), silent.isClosed]).toEqual(['offline', true])

  const mute = await reopened()
  mute.onopen()
  await clock.forward(5_100)
  expect([status(), mute.isClosed]).toEqual(['offline', true])

  const ignoring = await reopened()
  await ignoring.accept()
  connection.wake()
  await clock.forward(5_100)
  expect([status(), ignoring.isClosed]).toEqual(['offline', true])

  const fine = await reopened()
  await fine.accept()
  connection.wake()
  await quiet()
  fine.say({ id: fine.asked('ping').id, error: { code: 108, message: 'not available' } })
  await clock.forward(60_000)
  expect(status()).toBe('live')
})

test('after a device slept, a message that waited in the socket saves the connection', async () => {
  const { opened, status, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept({ ping: 25 })
  const wakeUp = async () => {
    const { now } = performance
    await clock.forward(34_999)
    performance.now = () => now.call(performance) + HOUR_MS
    await clock.forward(500)
    performance.now = now
  }
  await wakeUp()
  expect(status()).toBe('live')
  socket.say({})
  await clock.forward(10_000)
  expect(status()).toBe('live')
  socket.say({})
  await wakeUp()
  expect(status()).toBe('live')
  await clock.forward(600)
  expect(status()).toBe('offline')
})

test('a frame that holds no messages, such as the page of a proxy, ends the socket', async () => {
  const { opened, reopened, status, connection } = connectionToTest()
  let socket = await opened()
  for (const data of ['<html>', 'null', '{}\n42', new ArrayBuffer(2), '{"id":1,"connect":']) {
    await socket.accept()
    socket.onmessage({ data: '\n{}\n' })
    expect(status()).toBe('live')
    socket.onmessage({ data })
    expect([status(), socket.isClosed]).toEqual(['offline', true])
    expect(connection.state.getSnapshot().lastError?.code).toBe('NETWORK_ERROR')
    socket = await reopened()
  }
})
