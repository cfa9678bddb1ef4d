import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { streamPaths } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { statusOf, toApiError } from '@parley/server/http/errors'
import { json } from '@parley/server/realtime/protocol/json'
import { serveStreams } from '@parley/server/realtime/sockets/stream-endpoint'
import { StreamSocket } from '@parley/server/realtime/sockets/stream-socket'
import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a client that left while its request was let in gets no session', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  const add = vi.fn()
  const node = { nodeId: 'n', tokens: { newSessionId: () => 's' }, emulation: { add } }
  const leave = vi.fn(async (_: unknown, { raw }: { raw: ServerResponse }) => {
    const left = once(raw, 'close')
    raw.socket?.destroy()
    await left
  })
  const handled = new Promise<void>((resolve) => {
    app.addHook('preHandler', (_request, _reply, done) => {
      done()
      setImmediate(resolve)
    })
  })
  const metrics = createMetrics()
  const guards = { stream: leave, origin: leave }
  serveStreams(app, { node, metrics, guards } as never) // only the used parts
  const url = await app.listen()
  await expect(fetch(`${url}${streamPaths.sse}?cf_connect={}`)).rejects.toThrow('fetch failed')
  await handled
  expect([leave.mock.calls.length, add.mock.calls.length]).toEqual([1, 0])
  const open = (await metrics.sockets.get()).values.map(({ value }) => value)
  expect(new Set(open)).toEqual(new Set([0]))
})

test('a stream that ends frees the memory of frames it has not written', () => {
  const response = Object.assign(new EventEmitter(), { write: () => true, destroyed: false })
  const options = { codec: json, transport: 'sse' as const, sessionId: 's' }
  const socket = new StreamSocket({ response: response as unknown as ServerResponse, ...options })
  const written: string[] = []
  for (const text of ['one', 'two']) socket.send(Buffer.from(text), {}, () => written.push(text))
  const ended: number[] = []
  socket.once('close', (code) => ended.push(code))
  expect(written).toEqual([])
  response.emit('close')
  response.emit('close')
  expect([written, ended]).toEqual([['one', 'two'], [1005]])
})

test.each([
  ['accepted', 204],
  ['unknown', 404],
  ['too many', 429],
  ['busy', 503],
])('commands whose outcome is "%s" are answered %i', async (outcome, status) => {
  const app = Fastify()
  onTestFinished(() => app.close())
  app.setErrorHandler((error, _, reply) => reply.code(statusOf(toApiError(error))).send())
  const node = { emulation: { receive: async () => outcome } }
  const guards = { stream: async () => {}, origin: async () => {} }
  serveStreams(app, { node, metrics: createMetrics(), guards } as never) // only the used parts
  const payload = JSON.stringify({ session: 's', node: 'n', data: '{}' })
  const answer = await app.inject({ method: 'POST', url: streamPaths.emulation, payload })
  expect(answer.statusCode).toBe(status)
})
