import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from './support/events.ts'
import { collectGarbage } from './support/heap.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
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
  await until(() => {
    collectGarbage()
    return requests.every((request) => request.deref() === undefined)
  })
  expect(requests).toHaveLength(CONNECTIONS)
})
