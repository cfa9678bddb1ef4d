import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createMetrics } from '@parley/server/core/metrics'
import type { CountedSocket } from '@parley/server/realtime/sockets/counted-socket'
import { observeSocket } from '@parley/server/realtime/sockets/observe-socket'
import { expect, test } from 'vitest'
import { sample } from '../../support/scrape.ts'

/** Ends a socket that the server has closed with a code, if it has; answers what is known of it. */
async function ended(received: number, closedWith?: number) {
  const metrics = createMetrics()
  const ends: object[] = []
  const socket = Object.assign(new EventEmitter(), {
    ...{ transport: 'sse', openedAt: performance.now(), framesReceived: 0, framesSent: 0 },
    closedWith,
  })
  const url = '/connection/sse?cf_connect=a-token'
  const request = { url, socket: { bytesRead: 1, bytesWritten: 2 } }
  // These are only the parts that are used.
  observeSocket(socket as unknown as CountedSocket, request as IncomingMessage, {
    metrics,
    onEnd: (end) => void ends.push(end),
    originOf: () => ({}) as never,
  })
  socket.emit('close', received)
  const text = await metrics.registry.metrics()
  const count = (code: number) => sample(text, `parley_socket_closes_total{code="${code}"}`)
  return { end: ends[0], count }
}

test('a socket that the server has closed ends with its code, though it is cut then', async () => {
  const { end, count } = await ended(1006, 3500)
  expect(end).toMatchObject({ code: 3500 })
  expect(count(3500)).toBe(1)
  expect((await ended(1001)).end).toMatchObject({ code: 1001 })
})

test('the log line of a closed socket has no token in its path', async () => {
  expect((await ended(1000)).end).toMatchObject({ path: '/connection/sse' })
})
