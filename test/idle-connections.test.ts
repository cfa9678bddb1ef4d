import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from './support/events.ts'
import { heapInUse } from './support/heap.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const CONNECTIONS = 300
const HEADER_BYTES = 15_000

/** How much the heap grows by connections that are kept open after a request with this header. */
async function heapOf(header: string) {
  const { hostname, port } = new URL(world().url)
  const before = heapInUse()
  for (const number of upTo(CONNECTIONS)) {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    const closed = new Promise((resolve) =>
      world().app.server.once('request', (_, response) => response.once('close', resolve)),
    )
    socket.write(`GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: ${number}${header}\r\n\r\n`)
    await Promise.all([once(socket, 'data'), closed])
  }
  return heapInUse() - before
}

test('a connection that is idle keeps nothing of its last request in memory', async () => {
  const short = await heapOf('')
  const long = await heapOf('a'.repeat(HEADER_BYTES))
  expect(long - short).toBeLessThan((CONNECTIONS * HEADER_BYTES) / 3)
})
