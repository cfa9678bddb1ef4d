import { createServer } from 'node:http'
import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openConnection } from '@parley/server/db/client'
import { singleSocket } from '@parley/server/db/single-socket'
import { expect, onTestFinished, test } from 'vitest'

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

test('all statements that wait for a connection fail with it', async () => {
  let opened = 0
  const server = net.createServer((socket) => {
    opened++
    socket.on('error', () => {}).destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo // listening on TCP
  const url = `postgres://127.0.0.1:${port}/unused`
  const sql = openConnection({ url, applicationName: 'parley-test', socket: singleSocket() })
  onTestFinished(async () => {
    await sql.end({ timeout: 0 })
    server.close()
  })
  const waiting = [sql`begin`, sql`select 1`, sql`rollback`].map((query) => query.execute())
  const codes = (await Promise.allSettled(waiting)).map((end) =>
    end.status === 'rejected' ? end.reason.code : end.status,
  )
  for (const code of codes) expect(code).toMatch(/^(CONNECTION_CLOSED|ECONNRESET|EPIPE)$/)
  expect(opened).toBe(1)
})
