import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('of thousands of requests that arrive at once no more than may wait are begun', async () => {
  const { hostname, port } = new URL(world().url)
  let begun = 0
  const count = () => void begun++
  world().app.server.on('request', count)
  onTestFinished(() => void world().app.server.off('request', count))
  const socket = connect(Number(port), hostname).resume()
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {}).write('GET / HTTP/1.1\r\n\r\n'.repeat(3_000))
  await closed
  expect(begun).toBeGreaterThan(1)
  expect(begun).toBeLessThan(100)
})
