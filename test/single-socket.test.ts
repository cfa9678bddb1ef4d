import { createServer } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
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
