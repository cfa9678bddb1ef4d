import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { endpointPath } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from './support/events.ts'
import { collectGarbage } from './support/heap.ts'
import { NEVER } from './support/quiet.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({ timings: { connectMs: NEVER, pingMs: NEVER } })
const CONNECTIONS = 50

test('a connection that is idle keeps nothing of its last request in memory', async () => {
  const { server } = world().app
  const { hostname, port } = new URL(world().url)
  const requests: WeakRef<object>[] = []
  for (const _ of upTo(CONNECTIONS)) {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    const closed = new Promise((resolve) =>
      server.once('request', (request, response) => {
        requests.push(new WeakRef(request))
        response.once('close', resolve)
      }),
    )
    socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
    await Promise.all([once(socket, 'data'), closed])
  }
  await untilForgotten(requests)
})

const untilForgotten = async (requests: WeakRef<object>[]) => {
  expect(requests).toHaveLength(CONNECTIONS)
  await until(() => {
    collectGarbage()
    return requests.every((request) => request.deref() === undefined)
  })
}

test.each([endpointPath, '/trpc'])('a socket of %s keeps nothing of its request', async (path) => {
  const { server } = world().app
  const { hostname, port } = new URL(world().url)
  const requests: WeakRef<object>[] = []
  const note = (request: IncomingMessage) => void requests.push(new WeakRef(request))
  server.on('upgrade', note)
  onTestFinished(() => void server.off('upgrade', note))
  const upgrade = [
    ...[`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'],
    ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', '', ''],
  ]
  for (const _ of upTo(CONNECTIONS)) {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    socket.write(upgrade.join('\r\n'))
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 101 /)
  }
  await untilForgotten(requests)
})
