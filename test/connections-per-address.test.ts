import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const MOST = 5
const world = useWorld({ connectionsPerAddress: MOST })

test('connections of an address beyond its limit are closed, others have their own', async () => {
  const { hostname, port } = new URL(world().url)
  const open = (localAddress: string) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress })
    onTestFinished(() => void socket.destroy())
    return socket
  }
  /** Whether the server answers a connection from this address. */
  const isServed = async (localAddress: string) => {
    const socket = open(localAddress).on('error', () => {})
    socket.end('GET /health/live HTTP/1.1\r\nHost: parley\r\nConnection: close\r\n\r\n')
    let text = ''
    for await (const data of socket.setEncoding('utf8')) text += data
    return text.startsWith('HTTP/1.1 200')
  }
  const idle = Array.from({ length: MOST }, () => open('127.0.0.2'))
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  expect(await isServed('127.0.0.2').catch(() => false)).toBe(false)
  expect(await isServed('127.0.0.3')).toBe(true)
  idle[0]?.destroy()
  await until(() => isServed('127.0.0.2').catch(() => false))
  expect(await isServed('127.0.0.3')).toBe(true)
})
