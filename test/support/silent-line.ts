import { once } from 'node:events'
import net from 'node:net'
import { onTestFinished } from 'vitest'
import { addressOf } from './database-proxy.ts'

type Way = { databaseUrl: string; delayMs?: number }

/**
 * A way to a database on which the first connection that sends this falls silent there. What the
 * database says may take a while.
 */
export async function silentAt(statement: string, { databaseUrl, delayMs = 0 }: Way) {
  let silenced = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ ...addressOf(databaseUrl), noDelay: true })
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}))
    let isSilent = false
    client.on('data', (bytes) => {
      isSilent ||= silenced === 0 && bytes.includes(statement)
      if (isSilent) silenced += 1
      else upstream.write(bytes)
    })
    const pass = (bytes: Buffer) => void (!isSilent && client.writable && client.write(bytes))
    upstream.on('data', (bytes) => (delayMs > 0 ? setTimeout(pass, delayMs, bytes) : pass(bytes)))
    client.on('close', () => upstream.destroy())
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}` // it listens on TCP
  return { url: url.href, silenced: () => silenced }
}
