import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { isStreamed } from '@parley/server/http/streamed-body'
import { expect, onTestFinished, test, vi } from 'vitest'
import { beginPost, exchange, expectError } from './support/raw.ts'
import { patient, until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** The answers on a connection that times out after these bytes, without a complete request. */
async function answersAfter(bytes: string) {
  const { server } = world().app
  const accepted = once(server, 'connection') as Promise<[Socket]> // as Node.js documents
  const answers = exchange(world().url, bytes)
  const [socket] = await accepted
  await vi.waitUntil(() => socket.bytesRead === bytes.length, patient)
  server.emit('clientError', Object.assign(new Error(TIMED_OUT), { code: TIMED_OUT }), socket)
  return answers
}

test('an unused connection is closed without an answer', async () => {
  expect(await answersAfter('')).toEqual([])
})

test('half of a request that never gets whole is a VALIDATION_ERROR', async () => {
  const [answer] = await answersAfter('GET /health/live HTTP/1.1\r\nHost: x\r\n')
  if (!answer) throw new Error('no answer')
  expectError(answer, 'VALIDATION_ERROR')
})

test('a connection that pipelines takes any number of requests, a few at a time', async () => {
  const { hostname, port } = new URL(world().url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  const answers = () => received.split('HTTP/1.1 200').length - 1
  for (const count of [40, 80]) {
    socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40))
    await until(() => answers() === count)
  }
})

test('a body that is read while it arrives may take longer than any other request', async () => {
  const { url, apiKey, app } = world()
  const received = once(app.server, 'request') as Promise<[IncomingMessage]> // as Node.js documents
  const headers = { Connection: 'close', ...ndjson(apiKey) }
  const slow = await beginPost(url, '/import', { headers, body: line('slow') })
  const [request] = await received
  await vi.waitUntil(() => isStreamed(request), patient)
  const timedOut = Object.assign(new Error(TIMED_OUT), { code: TIMED_OUT })
  app.server.emit('clientError', timedOut, request.socket)
  const answer = await slow.finish()
  expect([answer?.status, JSON.parse(answer?.body ?? '{}').imported.users]).toEqual([200, 1])
})

test('bytes behind a streamed body are not taken for a request', async () => {
  const { url, apiKey } = world()
  const body = line('first')
  const headers = { Host: 'parley', 'Content-Length': body.length, ...ndjson(apiKey) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST /import HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  const next = 'GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  const answers = await exchange(url, request, next)
  expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
    [200, 'close'],
  ])
})

const line = (id: string) => `{"record":"user","id":"${id}"}\n`
const ndjson = (apiKey: string) => ({
  'X-Api-Key': apiKey,
  'Content-Type': 'application/x-ndjson',
})

test('a client that goes on with a request that took too long is cut off', async () => {
  const { hostname, port } = new URL(world().url)
  const { server } = world().app
  const accepted = once(server, 'connection') as Promise<[Socket]> // as Node.js documents
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const client = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  onTestFinished(() => void client.destroy())
  const ended = once(client.on('error', () => {}).resume(), 'end')
  const bytes = 'POST /emulation HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n'
  client.write(bytes)
  const [socket] = await accepted
  const received = (count: number) => vi.waitUntil(() => socket.bytesRead === count, patient)
  await received(bytes.length)
  server.emit('clientError', Object.assign(new Error(TIMED_OUT), { code: TIMED_OUT }), socket)
  await ended
  client.write('{')
  await received(bytes.length + 1)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(5_000)
  vi.useRealTimers()
  expect(socket.destroyed).toBe(true)
})
