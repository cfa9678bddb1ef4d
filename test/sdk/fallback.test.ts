import { StreamSocket } from '@parley/client/internal/protocol/stream-socket'
import { Transports } from '@parley/client/internal/protocol/transports'
import { Connection } from '@parley/client/internal/realtime/connection'
import { Tokens } from '@parley/client/internal/realtime/tokens'
import { expect, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

test('WebSockets and streams take turns until one of them connects', async () => {
  const { transports, next } = transportsToTest()
  expect(next()).toBe('WebSocket')
  await transports.failed()
  expect(next()).toBe('stream')
  await transports.failed()
  expect(next()).toBe('WebSocket')
  await transports.failed()
  next()
  transports.connected(URL)
  expect(next()).toBe('stream')
  transports.forget()
  expect(next()).toBe('WebSocket')
  transports.connected(URL)
  await transports.failed()
  expect(next()).toBe('WebSocket')
  // Another network may block what the last one did not.
  transports.forget()
  await transports.failed()
  expect(next()).toBe('stream')
})

test('a client with a stream tries a WebSocket every ten minutes, until one opens', async () => {
  const clock = stoppedClock()
  const { transports, next, sockets, found } = transportsToTest()
  next()
  await transports.failed()
  for (let session = 0; session < 2; session++) {
    next()
    transports.connected(URL)
  }
  await clock.forward(599_000)
  expect(sockets).toHaveLength(1)
  await clock.forward(1_000)
  expect(sockets).toHaveLength(2)
  await clock.forward(605_000)
  expect(sockets.map(({ isClosed }) => isClosed)).toEqual([false, true, false])
  sockets[2]?.fail()
  await clock.forward(600_000)
  sockets[3]?.onopen?.()
  expect([found, sockets[3]?.isClosed, next()]).toEqual([['found'], true, 'WebSocket'])
  await transports.failed()
  next()
  transports.connected(URL)
  const tried = sockets.length
  transports.halt()
  await clock.forward(1_200_000)
  expect(sockets).toHaveLength(tried)
})

test('a client that stops while it tries a WebSocket connects to nothing later', async () => {
  const clock = stoppedClock()
  const { transports, next, sockets, found } = transportsToTest()
  next()
  await transports.failed()
  next()
  transports.connected(URL)
  await clock.forward(600_000)
  transports.halt()
  sockets[1]?.onopen?.()
  expect([sockets[1]?.isClosed, found]).toEqual([true, []])
})

test('a client that disconnects from a stream connects to nothing later', async () => {
  const clock = stoppedClock()
  const { scripted } = scriptedChat()
  let opened = 0
  class BlockedSocket {
    onclose = (_close: { code: number; reason: string }) => {}
    constructor() {
      opened += 1
      queueMicrotask(() => this.onclose({ code: 1006, reason: 'blocked' }))
    }
    close() {}
  }
  const token = async () => ({ ...(await scripted.token()), wsUrl: URL })
  const start = (body: ReadableStreamDefaultController<Uint8Array>) =>
    body.enqueue(Buffer.from(`${CONNECTED}\n`))
  const answer = async () => new Response(new ReadableStream({ start }))
  const connection = new Connection({
    tokens: new Tokens(token, () => {}),
    webSocket: BlockedSocket as unknown as typeof WebSocket, // as far as it is used
    fetch: answer as typeof fetch, // for one address
    onConnected: () => {},
    catchUp: async () => {},
    onError: () => {},
  })
  void connection.connect()
  while (connection.state.getSnapshot().status !== 'live') await clock.forward(100)
  connection.disconnect()
  const before = opened
  await clock.forward(1_200_000)
  expect([opened, connection.state.getSnapshot().status]).toEqual([before, 'offline'])
})

test('where an address has no streams, only WebSockets are tried', async () => {
  const { transports, next } = transportsToTest()
  await transports.failed()
  expect(next('wss://chat.example.com/socket')).toBe('WebSocket')
})

test('a stream passes lines on as they were sent, and sends each frame in its turn', async () => {
  const { socket, write, received, sent } = await openStream()
  // A character that two chunks share.
  const line = Buffer.from('{"text":"€"}\n')
  write(line.subarray(0, -4))
  write(line.subarray(-4))
  await expect.poll(() => received).toEqual([CONNECTED, '{"text":"€"}'])
  for (const data of ['one', 'two']) {
    socket.send(data)
    await expect.poll(() => sent.at(-1)).toEqual({ session: 's', node: 'n', data })
  }
})

test('frames that a stream is given before it is connected are sent once it is', async () => {
  const { sent } = await openStream(204, ['early', 'too'])
  await expect.poll(() => sent).toEqual([{ session: 's', node: 'n', data: 'early\ntoo' }])
})

test('a stream that ends, or whose frame is refused, is closed once', async () => {
  const ending = await openStream()
  ending.end()
  await expect.poll(() => ending.closed).toEqual([1006])
  const refused = await openStream(404)
  refused.socket.send('one')
  await expect.poll(() => refused.closed).toEqual([1006])
  refused.end()
  await quiet()
  expect(refused.closed).toEqual([1006])
})

test('a stream that was closed passes nothing on', async () => {
  const { socket, write, received, closed } = await openStream()
  socket.close()
  write(Buffer.from('{"text":"late"}\n'))
  await quiet()
  expect([received, closed]).toEqual([[CONNECTED], []])
})

const CONNECTED = '{"id":1,"connect":{"session":"s","node":"n"}}'

/** A stream whose answer is written by hand. Frames that are sent later get this status. */
async function openStream(status = 204, early: string[] = []) {
  let body: ReadableStreamDefaultController<Uint8Array> | undefined
  const sent: unknown[] = []
  const answer = async (address: string, request: RequestInit = {}) => {
    const start = (controller: typeof body) => {
      body = controller
    }
    if (address.endsWith('/http_stream')) return new Response(new ReadableStream({ start }))
    sent.push(JSON.parse(String(request.body)))
    return new Response(null, { status })
  }
  const socket = new StreamSocket(URL, answer as typeof fetch) // it is given texts
  const received: string[] = []
  const closed: number[] = []
  socket.onmessage = ({ data }) => void received.push(data)
  socket.onclose = ({ code }) => void closed.push(code)
  socket.send('{"id":1,"connect":{}}')
  for (const frame of early) socket.send(frame)
  await expect.poll(() => body).toBeDefined()
  const write = (chunk: Uint8Array) => body?.enqueue(chunk)
  write(Buffer.from(`${CONNECTED}\n`))
  await expect.poll(() => received).toEqual([CONNECTED])
  return { socket, write, end: () => body?.close(), received, closed, sent }
}

const URL = 'ws://chat.example.com/connection/websocket'

function transportsToTest() {
  const sockets: ManualSocket[] = []
  const found: string[] = []
  class ManualSocket {
    onopen: (() => void) | null = null
    onclose: (() => void) | null = null
    onerror: (() => void) | null = null
    isClosed = false
    constructor() {
      sockets.push(this)
    }
    close() {
      this.isClosed = true
    }
    /** As in Node.js, where an error without a listener ends the process. */
    fail() {
      if (!this.onerror) throw new Error('no listener for errors')
      this.onerror()
      this.onclose?.()
    }
  }
  const transports = new Transports({
    webSocket: () => ManualSocket as unknown as typeof WebSocket, // as far as it is used
    fetch,
    onWebSocket: () => found.push('found'),
  })
  const next = (url = URL) =>
    transports.openSocket(url) instanceof StreamSocket ? 'stream' : 'WebSocket'
  return { transports, next, sockets, found }
}
