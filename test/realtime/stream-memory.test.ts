import { once } from 'node:events'
import { connect } from 'node:net'
import { streamPaths } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { forge } from '../support/forge.ts'
import { heapInUse } from '../support/heap.ts'
import { NEVER } from '../support/quiet.ts'
import { inSeconds } from '../support/socket.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ timings: { connectMs: NEVER } })
const STREAMS = 200

/** A connect command that is answered, though its token has expired: the stream goes on. */
async function refusedConnect() {
  const { minted } = await world().user('ana')
  const expired = { payload: { iat: inSeconds(-100), exp: inSeconds(-50) } }
  return JSON.stringify({ id: 1, connect: { token: forge(minted.wsToken, expired) } })
}

/** How much the heap grows by streams that were opened with this request. */
async function heapOf(request: string) {
  const { hostname, port } = new URL(world().url)
  const before = heapInUse()
  for (const _ of upTo(STREAMS)) {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    socket.write(request)
    await once(socket, 'data')
  }
  return (heapInUse() - before) / STREAMS
}

test('a stream keeps no headers and no query of its request in memory', async () => {
  const command = await refusedConnect()
  const query = `cf_connect=${encodeURIComponent(command)}`
  const post = `POST ${streamPaths.http_stream} HTTP/1.1\r\nContent-Length: ${command.length}\r\n`
  const get = (query: string) => `GET ${streamPaths.sse}?${query} HTTP/1.1\r\n`
  const headers = (count: number) => `Host: x\r\n${'a:\r\n'.repeat(count)}\r\n`
  const parameters = Array.from({ length: 2_000 }, (_, index) => `&${index.toString(36)}`).join('')
  await heapOf(`${post}${headers(1)}${command}`)
  const few = await heapOf(`${post}${headers(1)}${command}`)
  const many = await heapOf(`${post}${headers(1_500)}${command}`)
  expect(many - few).toBeLessThan(10_000)
  const short = await heapOf(`${get(query)}${headers(1)}`)
  const long = await heapOf(`${get(query + parameters)}${headers(1)}`)
  expect(long - short).toBeLessThan(10_000)
})
