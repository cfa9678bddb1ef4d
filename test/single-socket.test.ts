import { createServer } from 'node:http'
import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connectOnce, openConnection } from '@parley/server/db/client'
import { pacedSockets } from '@parley/server/db/paced-sockets'
import { singleSocket } from '@parley/server/db/single-socket'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a connection that is given up before it was begun is not opened', async () => {
  let opened = 0
  const server = createServer().on('connection', () => void opened++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not a port')
  const open = () => singleSocket()({ host: ['127.0.0.1'], port: [address.port], path: false })
  const givenUp = open()
  givenUp.destroy()
  await nextTurn()
  expect([givenUp.connecting, givenUp.destroyed]).toEqual([false, true])
  const used = open()
  await new Promise<void>((resolve) => used.once('connect', resolve))
  used.destroy()
  await expect.poll(() => opened).toBe(1)
})

/** A server that closes each connection at once, and how many came. */
async function closingServer() {
  let opened = 0
  const server = net.createServer((socket) => {
    opened++
    socket.on('error', () => {}).destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as net.AddressInfo // listening on TCP
  return { url: `postgres://127.0.0.1:${port}/unused`, opened: () => opened }
}

test('all statements that wait for a connection fail with it', async () => {
  const { url, opened } = await closingServer()
  const sql = openConnection({ url, applicationName: 'parley-test', socket: singleSocket() })
  onTestFinished(() => sql.end({ timeout: 0 }))
  const waiting = [sql`begin`, sql`select 1`, sql`rollback`].map((query) => query.execute())
  const codes = (await Promise.allSettled(waiting)).map((end) =>
    end.status === 'rejected' ? end.reason.code : end.status,
  )
  for (const code of codes) expect(code).toMatch(/^(CONNECTION_CLOSED|ECONNRESET|EPIPE)$/)
  expect(opened()).toBe(1)
})

test('a listener whose connections are closed at once makes them at growing pauses', async () => {
  const longest = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => longest.mockRestore())
  const { url, opened } = await closingServer()
  const sockets = pacedSockets()
  const sql = connectOnce(url, { socket: sockets.open })
  const began = performance.now()
  const listening = sql.listen('parley', () => {})
  const refused = expect(listening).rejects.toThrow()
  await expect.poll(opened, { timeout: 60_000, interval: 5 }).toBeGreaterThanOrEqual(4)
  // 100, 200 and 400 ms, by a timer that may be a little early.
  expect(performance.now() - began).toBeGreaterThan(650)
  sockets.end()
  await sql.end({ timeout: 0 })
  await refused
  const last = opened()
  const { port } = new URL(url)
  const late = await sockets.open({ host: ['127.0.0.1'], port: [Number(port)], path: false })
  await new Promise((resolve) => late.on('error', resolve))
  expect(opened()).toBe(last)
})

test('a listener whose connection has lasted makes the next one at once', async () => {
  const { now } = performance
  let later = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + later)
  onTestFinished(() => clock.mockRestore())
  const address = { host: ['127.0.0.1'], port: [9], path: false as const }
  /** Whether the next connection, after one that has lasted this long, is made without a pause. */
  const isMadeAtOnce = async (lastedMs: number) => {
    const sockets = pacedSockets()
    const first = await sockets.open(address)
    first.destroy()
    later += lastedMs
    const opening = sockets.open(address)
    // If this ends a pause, the socket is closed.
    sockets.end()
    const next = await opening
    const isMade = !next.destroyed
    next.on('error', () => {}).destroy()
    return isMade
  }
  expect([await isMadeAtOnce(0), await isMadeAtOnce(60_000)]).toEqual([false, true])
})
