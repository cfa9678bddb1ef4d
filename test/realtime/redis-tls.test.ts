import { once } from 'node:events'
import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { hasRedis, redisAt, startTlsRedis } from '../support/redis.ts'

/** Collects the errors that would end the process, until the test ends. */
function catchFatal() {
  const caught: Error[] = []
  const others = process.listeners('uncaughtException')
  const keep = (error: Error) => void caught.push(error)
  process.removeAllListeners('uncaughtException').on('uncaughtException', keep)
  onTestFinished(() => {
    process.off('uncaughtException', keep)
    for (const other of others) process.on('uncaughtException', other)
  })
  return caught
}

// Redis answers the end of a handshake with an alert, after the certificate has been refused.
test.skipIf(!hasRedis)(
  'a process survives giving up a connection to Redis during a failing handshake',
  async () => {
    const redis = await startTlsRedis()
    onTestFinished(redis.kill)
    const caught = catchFatal()
    const clients: net.Socket[] = []
    let giveUp = () => {}
    const between = net.createServer({ allowHalfOpen: true }, (client) => {
      clients.push(client)
      const server = net.connect({ port: redis.port, allowHalfOpen: true })
      client.once('data', () => giveUp())
      client.pipe(server).pipe(client)
      for (const socket of [client, server]) socket.on('error', () => {})
    })
    between.listen(0)
    await once(between, 'listening')
    onTestFinished(() => void between.close())
    const { port } = between.address() as net.AddressInfo // it listens on TCP
    // Its CA is not trusted yet.
    const { connect } = await redisAt(redis.url.replace(/\d+$/, String(port)))
    const connection = connect({ name: 'given-up', commandMs: 5_000 })
    await new Promise<void>((resolve) => {
      giveUp = () => {
        connection.close()
        resolve()
      }
    })
    await Promise.all(clients.map((client) => client.closed || once(client, 'close')))
    await new Promise(setImmediate)
    expect(caught).toEqual([])
  },
)
