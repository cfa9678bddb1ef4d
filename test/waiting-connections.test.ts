import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()
const CONNECTIONS = 1_000
/** The system's limit, whatever a server asks for. */
const somaxconn = () => Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
const isPossible = process.platform === 'linux' && somaxconn() > CONNECTIONS

/** Opens connections to a port, and prints how many of them were open together. */
const client = `
  const { connect } = require('node:net')
  const most = ${CONNECTIONS}
  let open = 0
  const end = () => {
    process.stdout.write(String(open))
    process.exit()
  }
  for (let count = 0; count < most; count++)
    connect(Number(process.argv[1]), process.argv[2]).on('connect', () => {
      open += 1
      if (open === most) end()
    })
  setTimeout(end, 20_000)`

test.runIf(isPossible)('connections made all at once to a busy server are not dropped', () => {
  const { hostname, port } = new URL(world().url)
  // The server is in this process, which is busy until the client has ended.
  const { stdout } = spawnSync(process.execPath, ['-e', client, port, hostname])
  expect(String(stdout)).toBe(String(CONNECTIONS))
})

test('a connection that sends thousands of requests at once has fewer than 100 begun', async () => {
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
