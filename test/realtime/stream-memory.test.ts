import { once } from 'node:events'
import { connect } from 'node:net'
import { endpointPath, streamPaths } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { forge } from '../support/forge.ts'
import { heapInUse, leastGrowth } from '../support/heap.ts'
import { NEVER } from '../support/quiet.ts'
import { inSeconds } from '../support/socket.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ timings: { connectMs: NEVER } })
const CONNECTIONS = 200
/** The most that a request of 9 KB or more may leave in memory. */
const MOST_BYTES = 4_000
const parameters = Array.from({ length: 2_500 }, (_, index) => `&${index.toString(36)}`).join('')

/** A connect command that is answered, though its token has expired: the stream goes on. */
async function refusedConnect() {
  const { minted } = await world().user('ana')
  const expired = { payload: { iat: inSeconds(-100), exp: inSeconds(-50) } }
  return JSON.stringify({ id: 1, connect: { token: forge(minted.wsToken, expired) } })
}

/** How much the heap grows by each connection that is opened with this request. */
async function heapOf(request: string) {
  const { hostname, port } = new URL(world().url)
  const before = heapInUse()
  for (const _ of upTo(CONNECTIONS)) {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    socket.write(request)
    await once(socket, 'data')
  }
  return (heapInUse() - before) / CONNECTIONS
}

async function expectSameHeap(short: string, long: string) {
  expect(long.length - short.length).toBeGreaterThan(2 * MOST_BYTES)
  await heapOf(short)
  const growth = await leastGrowth(MOST_BYTES, async () => {
    const ofShort = await heapOf(short)
    return (await heapOf(long)) - ofShort
  })
  expect(growth).toBeLessThan(MOST_BYTES)
}

test('a stream keeps no headers and no query of its request in memory', async () => {
  const command = await refusedConnect()
  const query = `cf_connect=${encodeURIComponent(command)}`
  const post = `POST ${streamPaths.http_stream} HTTP/1.1\r\nContent-Length: ${command.length}\r\n`
  const get = (query: string) => `GET ${streamPaths.sse}?${query} HTTP/1.1\r\n`
  const headers = (count: number) => `Host: x\r\n${'a:\r\n'.repeat(count)}\r\n`
  await expectSameHeap(`${post}${headers(1)}${command}`, `${post}${headers(2_500)}${command}`)
  await expectSameHeap(`${get(query)}${headers(1)}`, `${get(query + parameters)}${headers(1)}`)
})

test('a WebSocket keeps no query of its request in memory', async () => {
  const upgrade = (query: string) =>
    `GET ${endpointPath}?${query} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n` +
    'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
    `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`
  await expectSameHeap(upgrade(''), upgrade(parameters))
})
