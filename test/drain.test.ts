import { once } from 'node:events'
import { createConnection } from 'node:net'
import { endpointPath } from '@parley/contract'
import { createShutdown } from '@parley/server/core/shutdown'
import { expect, onTestFinished, test, vi } from 'vitest'
import { forge } from './support/forge.ts'
import { whileLocked } from './support/locks.ts'
import { exchange, post } from './support/raw.ts'
import { RawSocket } from './support/socket.ts'
import { RawStream } from './support/stream.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()

/** A node of its own, which is of no use for other tests once it has announced its end. */
async function leavingNode() {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  onTestFinished(node.stop)
  const [ana] = await node.users('ana')
  return { node, ana }
}

test('a server about to stop fails its health, and serves calls and sockets', async () => {
  const { node, ana } = await leavingNode()
  const health = () => post(node.url, '/health', { method: 'GET' })
  expect((await health()).status).toBe(200)
  // The time is so long that no socket is sent away meanwhile.
  void node.shutdown.announce(600_000)
  const answer = await health()
  expect(answer.status).toBe(503)
  expect(JSON.parse(answer.body).error.message).toBe('The server is about to stop')
  expect((await post(node.url, '/health/live', { method: 'GET' })).status).toBe(200)
  const { id } = await ana.channels.create({ type: 'group', name: 'Late' })
  expect((await ana.messages.send({ channelId: id, text: 'still here' })).seq).toBe(1)
  const socket = await RawSocket.connect(node, ana)
  socket.socket.terminate()
})

test('a server about to stop keeps no connection open for another request', async () => {
  const { node } = await leavingNode()
  const request = 'GET /health/live HTTP/1.1\r\nHost: parley\r\n\r\n'
  const { hostname, port } = new URL(node.url)
  const kept = createConnection(Number(port), hostname)
  onTestFinished(() => void kept.destroy())
  const received = (text: string) =>
    new Promise<string>((resolve) => {
      kept.removeAllListeners('data')
      kept.on('data', (data) => String(data).includes(text) && resolve(String(data)))
    })
  const first = received('HTTP/1.1')
  kept.write(request)
  expect(await first).toMatch(/connection: keep-alive/i)
  // From the beginning of the time on, not from its end.
  const announced = node.shutdown.announce(1_000)
  const [answer] = await exchange(node.url, request)
  expect(answer).toMatchObject({ status: 200, headers: { connection: 'close' } })
  const last = received('HTTP/1.1')
  kept.write(request)
  expect(await last).toMatch(/connection: close/i)
  await announced
})

test('a server about to stop sends its sockets away in the second half of the time', async () => {
  const { node, ana } = await leavingNode()
  const sockets = await Promise.all([1, 2, 3].map(() => RawSocket.connect(node, ana)))
  const startedAt = performance.now()
  const announced = node.shutdown.announce(800)
  const codes = await Promise.all(
    sockets.map(async ({ closed }) => {
      const { code } = await closed
      // Timers may be early by a millisecond.
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(390)
      return code
    }),
  )
  expect(codes).toEqual([3001, 3001, 3001])
  await announced
})

/** A node that has sent the first of its two sockets away, and waits to do so with the second. */
async function closingNode() {
  const timings = { shutdownMs: 4_000 }
  const node = await createWorld({ databaseUrl: world().databaseUrl, timings })
  const [ana] = await node.users('ana')
  const sockets = await Promise.all([1, 2].map(() => RawSocket.connect(node, ana)))
  // The second session is closed two seconds after the first: once these timers go on.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stopped = node.stop()
  expect(await Promise.race(sockets.map(({ closed }) => closed))).toMatchObject({ code: 3001 })
  const openLate = () =>
    RawSocket.open(node).then(
      ({ socket }) => socket.terminate(),
      ({ message }: Error) => message,
    )
  const goOn = async () => {
    vi.advanceTimersByTime(4_000)
    vi.useRealTimers()
    await stopped
  }
  return { node, openLate, goOn }
}

test('a server that is closing its sessions refuses new sockets', async () => {
  const { openLate, goOn } = await closingNode()
  expect(await openLate()).toBe('answered 503')
  await goOn()
})

test('a refusal by a stopping server says when to retry', async () => {
  const { node } = await leavingNode()
  void node.shutdown.announce(600_000)
  const health = await post(node.url, '/health', { method: 'GET' })
  expect([health.status, health.headers['retry-after']]).toEqual([503, '1'])
  const { node: closing, goOn } = await closingNode()
  const upgrade = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const refused = await post(closing.url, endpointPath, { method: 'GET', headers: upgrade })
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  await goOn()
})

test('a stopping server ends the streams of clients that are about to refresh', async () => {
  const { node, ana } = await leavingNode()
  const token = forge(ana.minted.wsToken, { payload: { iat: 1_000, exp: 2_000 } })
  const stream = new RawStream(node, JSON.stringify({ id: 1, connect: { token } }))
  onTestFinished(() => stream.terminate())
  expect((await stream.reply(1)).error).toMatchObject({ code: 109 })
  await node.stop()
  expect((await stream.closed).code).toBe(3001)
})

/** A connection that sends no request. */
async function connectSilently({ url }: { url: string }) {
  const { hostname, port } = new URL(url)
  const silent = createConnection(Number(port), hostname)
  onTestFinished(() => void silent.destroy())
  silent.on('error', () => {})
  const closed = once(silent, 'close')
  await once(silent, 'connect')
  return { closed }
}

test('a connection that sends no request does not keep a server from closing', async () => {
  const { node, openLate, goOn } = await closingNode()
  const { closed } = await connectSilently(node)
  // The server has accepted the connection before this one.
  await openLate()
  await goOn()
  await closed
})

test('a connection that sends no request is closed after the last answer', async () => {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  const [ana] = await node.users('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Busy' })
  const { closed } = await connectSilently(node)
  const socket = await RawSocket.connect(node, ana)
  const { sent, stopped } = await whileLocked(node, channelId, async (waiting) => {
    const sent = ana.messages.send({ channelId, text: 'last' })
    await waiting(1)
    const stopped = node.stop()
    // The server is closing by then.
    await socket.closed
    return { sent, stopped }
  })
  expect(await sent).toMatchObject({ text: 'last' })
  await closed
  await stopped
})

test('a process that hands over does not announce that it is about to stop', async () => {
  const shutdown = createShutdown()
  await shutdown.handOver(0)
  expect([shutdown.isAnnounced(), shutdown.isEnding()]).toEqual([false, true])
})
