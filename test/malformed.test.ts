import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { streamPaths } from '@parley/contract'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { whileLocked } from './support/locks.ts'
import { exchange, expectError } from './support/raw.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const origin = 'https://app.example.com'
const world = useWorld({ allowedOrigins: [origin] })
const live = 'GET /health/live HTTP/1.1\r\nHost: x\r\n'

describe('malformed HTTP is a VALIDATION_ERROR, and the connection is closed', () => {
  const malformed: Record<string, string | Buffer> = {
    'a TLS handshake': Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]),
    garbage: 'garbage\r\n\r\n',
    'an unknown method': 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n',
    'an unknown version': 'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a space in the path': 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
    'NUL in the path': 'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n',
    'NUL in a header': `${live}X-A: a\0b\r\n\r\n`,
    'a space before the colon of a header': `${live}X-A : a\r\n\r\n`,
    'a header without a name': `${live}: a\r\n\r\n`,
    'a length that is none': `${live}Content-Length: abc\r\n\r\n`,
    'a negative length': `${live}Content-Length: -1\r\n\r\n`,
    'two lengths': `${live}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    'length and chunks': `${live}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'headers of 20 KB': `${live}X-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    'a path of 20 KB': `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  }
  for (const [name, bytes] of Object.entries(malformed)) {
    test(name, async () => {
      const [answer, ...others] = await exchange(world().url, bytes)
      if (!answer) throw new Error('no answer')
      expectError(answer, 'VALIDATION_ERROR')
      expect(others).toEqual([])
      expect(answer.headers.connection).toBe('close')
      if (name.endsWith('20 KB'))
        expect(JSON.parse(answer.body).error.message).toBe('headers: expected at most 16 KB')
    })
  }
  test('a request that has not arrived after 30 seconds is given up', () => {
    expect(world().app.server.requestTimeout).toBe(30_000)
  })
  test('a bad chunk in a body is a VALIDATION_ERROR', async () => {
    const [answer, ...others] = await exchange(
      world().url,
      'POST /tokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    )
    expect(others).toEqual([])
    if (answer) expectError(answer, 'VALIDATION_ERROR')
  })
  test('the answer to malformed HTTP is readable for an allowed origin', async () => {
    const [answer] = await exchange(
      world().url,
      `${live}Origin: ${origin}\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    )
    expect(answer?.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
    const [other] = await exchange(
      world().url,
      `${live}Origin: https://evil.example.com\r\nX-A : a\r\n\r\n`,
    )
    expect(other?.headers).not.toHaveProperty('access-control-allow-origin')
  })
})

/** A request that sends a message. */
async function newSend() {
  const ana = await world().user('ana')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const body = '{"text":"hi"}'
  const send = [
    `POST /api/channels/${id}/messages HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${ana.token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
  return { ana, id, send }
}

test('garbage after a request does not replace the answer to the request', async () => {
  const { id, send } = await newSend()
  const answers = await whileLocked(world(), id, async (waiting) => {
    const answers = exchange(world().url, send, 'garbage\r\n\r\n')
    await waiting(1)
    return { answers }
  })
  expect((await answers.answers).map(({ status }) => status)).toEqual([201, 400])
})

test('pipelined requests are answered in order', async () => {
  const answers = await exchange(
    world().url,
    `${live}\r\n`,
    'GET /health HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n',
    `${live}Connection: close\r\n\r\n`,
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 200])
})

test('pipelined requests are carried out one after the other', async () => {
  const { ana, id, send } = await newSend()
  const other = await newSend()
  const { answers } = await whileLocked(world(), id, async (waiting) => {
    const answers = exchange(world().url, send, other.send, `${live}Connection: close\r\n\r\n`)
    await waiting(1)
    // This send came with the one that waits, and would have been carried out before this call.
    await other.ana.channels.get({ channelId: other.id })
    const { messages } = await ana.messages.list({ channelId: other.id })
    expect(messages).toEqual([])
    return { answers }
  })
  expect((await answers).map(({ status }) => status)).toEqual([201, 201, 200])
})

test('a connection on which too many requests wait is closed', async () => {
  const { id, send } = await newSend()
  const { hostname, port } = new URL(world().url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  const received: Buffer[] = []
  socket.on('data', (data) => received.push(data))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await whileLocked(world(), id, async (waiting) => {
    socket.write(send)
    await waiting(1)
    socket.write(`${live}\r\n`.repeat(65))
    await closed
  })
  expect(received).toEqual([])
})

test('a request with no Host or a malformed one is served', async () => {
  expect(
    await exchange(world().url, 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n'),
  ).toMatchObject([{ status: 200 }])
  expect(await exchange(world().url, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatchObject([
    { status: 200 },
  ])
  for (const host of ['a b', ':', '[', 'x:99999999', '%%%']) {
    expect(
      await exchange(
        world().url,
        `GET /trpc/service.live HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ),
    ).toMatchObject([{ status: 200 }])
  }
})

test('Expect: 100-continue is answered with 100, and other expectations are ignored', async () => {
  const body = '{"userId":"ben"}'
  const request = (expectation: string) =>
    [
      'POST /tokens HTTP/1.1',
      'Host: x',
      'Connection: close',
      `X-API-Key: ${world().apiKey}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      `Expect: ${expectation}`,
      '',
      body,
    ].join('\r\n')
  expect(
    (await exchange(world().url, request('100-continue'))).map(({ status }) => status),
  ).toEqual([100, 200])
  expect(
    (await exchange(world().url, request('the-unexpected'))).map(({ status }) => status),
  ).toEqual([200])
})

test('CONNECT is not found', async () => {
  const [answer] = await exchange(
    world().url,
    'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n',
  )
  if (!answer) throw new Error('no answer')
  expectError(answer, 'NOT_FOUND')
})

test('a refused upgrade closes its connection, whatever refused it', async () => {
  const connections: Socket[] = []
  const collect = (socket: Socket) => connections.push(socket)
  const { server } = world().app
  server.on('connection', collect)
  onTestFinished(() => {
    server.off('connection', collect)
    for (const connection of connections) connection.destroy()
  })
  const upgrade = (path: string, headers = '') =>
    exchange(
      world().url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa('x'.repeat(16))}\r\n` +
        `${headers}\r\n`,
    )
  const evil = 'Origin: https://evil.example.com\r\n'
  for (const [path, status, headers] of [
    ['/nope', 404],
    ['/health/live', 404],
    [`${streamPaths.sse}?cf_connect=secret`, 404],
    ['/connection/websocketx', 404],
    ['/%', 400],
    ['/connection/websocket', 403, evil],
  ] as const) {
    const [answer, ...others] = await upgrade(path, headers)
    expect(others).toEqual([])
    expect(answer).toMatchObject({ status, headers: { connection: 'close' } })
  }
  expect(connections).toHaveLength(6)
  await vi.waitFor(
    () => expect(connections.map(({ destroyed }) => destroyed)).not.toContain(false),
    patient,
  )
}, 60_000)

test('the server survives clients that hang up in the middle of a request', async () => {
  const { hostname, port } = new URL(world().url)
  for (const bytes of [
    'GET /hea',
    `${live}`,
    [
      'POST /tokens HTTP/1.1',
      'Host: x',
      'Content-Type: application/json',
      'Content-Length: 100',
      '',
      '{"user',
    ].join('\r\n'),
    'POST /tokens HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{',
  ]) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(bytes, () => socket.resetAndDestroy())
    await once(socket, 'close')
  }
  expect(await exchange(world().url, `${live}Connection: close\r\n\r\n`)).toMatchObject([
    { status: 200 },
  ])
})
