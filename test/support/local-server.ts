import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server on this machine, in place of an external one. */
export async function serveLocally(handle: RequestListener, port = 0) {
  // Idle connections stay open: closing one may cut a call, which its caller would repeat.
  const server = createServer({ keepAliveTimeout: 0 }, handle).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  return {
    host,
    url: `http://${host}`,
    stop: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The body of a request; undefined if its sender went away in the middle of it. */
export async function bodyOf(request: IncomingMessage) {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString()
}
