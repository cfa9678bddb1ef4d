import { ChatError } from '@parley/client'
import { createDeferred } from '@parley/client/internal/shared/timing'
import { expect, test } from 'vitest'
import { quiet } from '../../support/scripted/index.ts'
import { connectionToTest, publication } from '../../support/scripted/peer.ts'

test('a client that disconnects and connects twice in a tick keeps one socket', async () => {
  const { connection, opened, subscribe, sockets, status } = connectionToTest()
  const { story } = subscribe('a')
  const first = await opened()
  connection.disconnect()
  void connection.connect()
  connection.disconnect()
  void connection.connect()
  await quiet()
  expect([sockets.length, first.isClosed]).toEqual([2, true])
  const [, second] = sockets
  // Some platforms open a socket that was closed while it was connecting.
  first.isClosed = false
  first.onopen()
  expect(first.isClosed).toBe(true)
  first.onmessage({ data: '{"id":1,"connect":{}}' })
  first.onclose({ code: 3500, reason: 'late' })
  await quiet()
  expect([first.frames, status(), sockets.length]).toEqual([[], 'connecting', 2])
  await second?.accept()
  second?.say(second.subscribed('a'))
  await quiet()
  expect([status(), story]).toEqual(['live', ['from one 0']])
})

test('messages of a closed socket change nothing', async () => {
  const { connection, opened, subscribe, status, clock } = connectionToTest()
  const { story } = subscribe('a')
  const socket = await opened()
  await socket.accept({ ping: 25, pong: true, expires: true, ttl: 60 })
  const late = socket.subscribed('a')
  connection.disconnect()
  socket.say(late, {}, publication('a', 'late', 1), { push: { disconnect: { code: 3500 } } })
  socket.onclose({ code: 3500, reason: '' })
  await quiet()
  expect([status(), story, socket.frames.length, clock.timers()]).toEqual(['offline', [], 1, 0])
})

test('a socket that cannot be opened counts as a failed attempt', async () => {
  const { connection, opened, reopened, sockets, status } = connectionToTest()
  const { webSocket } = connection.options
  connection.options.webSocket = class {
    constructor() {
      throw new SyntaxError('not an address')
    }
  } as unknown as typeof globalThis.WebSocket // it is never made
  await expect(opened()).rejects.toThrow('no socket')
  expect([status(), sockets.length]).toEqual(['offline', 0])
  expect(connection.state.getSnapshot().lastError).toMatchObject({
    code: 'NETWORK_ERROR',
    message: expect.stringContaining('not an address'),
  })
  connection.options.webSocket = webSocket
  const errors: unknown[] = []
  connection.state.subscribe(() => {
    if (status() === 'connecting') errors.push(connection.state.getSnapshot().lastError?.code)
  })
  await (await reopened()).accept()
  // The last error is shown during the next attempt, too.
  expect([status(), errors]).toEqual(['live', ['NETWORK_ERROR']])
})

test('a device that goes offline loses an open socket at once, and no other', async () => {
  const { connection, opened, reopened, status, sockets } = connectionToTest()
  const socket = await opened()
  await socket.accept()
  connection.handleSleep()
  expect([status(), socket.isClosed]).toEqual(['offline', true])
  const { reconnectInMs } = connection.state.getSnapshot()
  connection.handleSleep()
  expect(connection.state.getSnapshot().reconnectInMs).toBe(reconnectInMs)
  const second = await reopened()
  connection.handleSleep()
  expect([status(), second.isClosed, sockets.length]).toEqual(['offline', true, 2])
})

test('the pause between attempts grows to half a minute and no further', async () => {
  const { opened, socket, connection, clock } = connectionToTest()
  await opened()
  const pauses: number[] = []
  for (let attempt = 0; attempt < 12; attempt++) {
    socket().onclose({ code: 1006, reason: '' })
    const { reconnectInMs } = connection.state.getSnapshot()
    pauses.push(reconnectInMs ?? 0)
    await clock.forward(reconnectInMs ?? 0)
  }
  expect(Math.min(...pauses.slice(7))).toBeGreaterThanOrEqual(15_000)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000)
})

test('catching up waits for the topics, but not for one that is refused for now', async () => {
  const { opened, subscribe, status, provider, clock } = connectionToTest()
  const caughtUp: string[] = []
  const [a, b] = [subscribe('a'), subscribe('b')]
  provider.catchUp = async () => void caughtUp.push(...a.story, ...b.story)
  const socket = await opened()
  await socket.accept()
  socket.say(socket.subscribed('a'))
  for (let tries = 0; tries < 20 && status() !== 'live'; tries++) {
    const { id } = socket.asked('subscribe', 'b')
    socket.say({ id, error: { code: 111, message: 'too many requests', temporary: true } })
    await clock.forward(300)
    expect(status()).toBe(tries < 16 ? 'catching-up' : 'live')
  }
  expect(caughtUp).toEqual(['from one 0'])
})

test('a listener that disconnects as soon as the client is connected leaves no timer', async () => {
  const { connection, opened, status, clock } = connectionToTest()
  connection.state.subscribe(() => {
    if (status() === 'catching-up') connection.disconnect()
  })
  await (await opened()).accept()
  expect([status(), clock.timers()]).toEqual(['offline', 0])
})

test('no connection is attempted while the token provider is backed off', async () => {
  const { connection, opened, provider, clock } = connectionToTest()
  let asked = 0
  provider.token = async () => {
    asked += 1
    throw new Error('down')
  }
  await expect(opened()).rejects.toThrow('no socket')
  for (let attempt = 1; attempt <= 10; attempt++) {
    expect(asked).toBe(attempt)
    await clock.forward(connection.state.getSnapshot().reconnectInMs ?? 0)
  }
})

test('attempts given up while one token is fetched count as a single failure', async () => {
  const { connection, opened, provider, sockets, status } = connectionToTest()
  const { promise, reject } = createDeferred<string>()
  provider.token = () => promise
  await expect(opened()).rejects.toThrow('no socket')
  for (let attempt = 2; attempt <= 10; attempt++) {
    connection.disconnect()
    void connection.connect().catch(() => {})
  }
  reject(new ChatError('down', { code: 'UNAVAILABLE' }))
  await quiet()
  expect([status(), sockets.length]).toEqual(['offline', 0])
  expect(connection.state.getSnapshot().reconnectInMs).toBeLessThanOrEqual(1_000)
})

test('an attempt made while a refused token is replaced is not put off by it', async () => {
  const { connection, opened, provider, sockets, status, clock } = connectionToTest()
  const socket = await opened()
  await socket.accept()
  // A newer one would be refused as well.
  await clock.forward(11_000)
  const { promise, resolve } = createDeferred<string>()
  provider.token = () => promise
  socket.onclose({ code: 3500, reason: 'refused' })
  await quiet()
  connection.wake()
  resolve('another')
  await quiet()
  expect([status(), sockets.length]).toEqual(['connecting', 2])
})

/** A connection to an address that has streams, too, but where none gets through. */
async function withBlockedStreams() {
  await import('@parley/client/internal/protocol/stream-socket')
  const streams: string[] = []
  const peer = connectionToTest({
    wsUrl: 'ws://chat/connection/websocket',
    fetch: async (address) => {
      streams.push(String(address))
      throw new TypeError('blocked')
    },
  })
  return { ...peer, streams }
}

test('a client whose token is refused keeps to WebSockets, which get through', async () => {
  const { opened, reopened, streams } = await withBlockedStreams()
  const socket = await opened()
  socket.onopen()
  await quiet()
  socket.say({ id: socket.asked('connect').id, error: { code: 109, message: 'token expired' } })
  await (await reopened()).accept()
  expect(streams).toEqual([])
})

test('after sleep the network may be another one, where only streams get through', async () => {
  const { connection, opened, reopened, clock, streams } = await withBlockedStreams()
  await (await opened()).accept()
  connection.handleSleep()
  const blocked = await reopened()
  blocked.onclose({ code: 1006, reason: '' })
  await clock.forward(connection.state.getSnapshot().reconnectInMs ?? 0)
  expect(streams).toEqual(['http://chat/connection/http_stream'])
})

test('a catch-up that ends after its connection makes nothing live', async () => {
  const { connection, opened, provider, status } = connectionToTest()
  const ends: (() => void)[] = []
  provider.catchUp = () => new Promise((resolve) => ends.push(resolve))
  const live: string[] = []
  void connection.connect().then(
    () => live.push('live'),
    () => {},
  )
  const socket = await opened()
  await socket.accept()
  expect([status(), ends.length]).toEqual(['catching-up', 1])
  socket.onclose({ code: 1006, reason: 'lost' })
  ends[0]?.()
  await quiet()
  expect([status(), live]).toEqual(['offline', []])
})

test('a live client says why some of what it missed could not be fetched', async () => {
  const { connection, opened, provider } = connectionToTest()
  const refusal = new ChatError('not yours', { code: 'FORBIDDEN', status: 403 })
  provider.catchUp = () => Promise.reject(refusal)
  await (await opened()).accept()
  expect(connection.state.getSnapshot()).toMatchObject({ status: 'live', lastError: refusal })
})
