import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createMetrics } from '@parley/server/core/metrics'
import { boundUnreadAnswers } from '@parley/server/http/unread-answers'
import { expect, onTestFinished, test } from 'vitest'
import { until } from './support/until.ts'

const MB = 2 ** 20

const LARGE = Buffer.alloc(64 * MB)

/** A server whose answers have 64 MB: far more than systems buffer for a connection. */
async function listen() {
  const metrics = createMetrics()
  let given = 0
  const server = createServer((request, response) => {
    response.once('prefinish', () => void given++)
    response.end(request.url === '/small' ? 'small' : LARGE)
  })
  boundUnreadAnswers(server, { mostBytes: 160 * MB, metrics })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    read: async (path = '/') => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return (await answer.arrayBuffer()).byteLength
    },
    cut: async () => (await metrics.answersCut.get()).values[0]?.value,
    bytes: async () => (await metrics.unreadAnswers.get()).values[0]?.value,
    /** A client that asks and does not read. Resolves once its answer was given. */
    ask: async () => {
      const before = given
      const socket = connect(port, '127.0.0.1').pause()
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: parley\r\n\r\n')
      await until(() => given > before)
      return socket
    },
  }
}

test('with too many unread answers the oldest are cut, and no more than needed', async () => {
  const { read, ask, cut, bytes } = await listen()
  await ask()
  await ask()
  expect(await cut()).toBe(0)
  for (const count of [1, 2]) {
    await ask()
    await until(async () => (await cut()) === count)
  }
  // The client that reads has the newest answer, which is not cut.
  expect(await read()).toBe(64 * MB)
  expect(await cut()).toBe(3)
  expect(await bytes()).toBeLessThanOrEqual(160 * MB)
})

test('answers that are read, or whose client goes away, are no longer counted', async () => {
  const { read, ask, cut, bytes } = await listen()
  const socket = await ask()
  expect(await bytes()).toBeGreaterThan(32 * MB)
  expect(await read('/small')).toBe(5)
  expect(await read()).toBe(64 * MB)
  socket.destroy()
  await until(async () => (await bytes()) === 0)
  expect(await cut()).toBe(0)
})
