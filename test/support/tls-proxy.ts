import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { certificates } from './certificates/index.ts'
import { addressOf } from './database-proxy.ts'

/** How a client asks a PostgreSQL server for TLS: eight bytes, which are answered with one. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex')

/**
 * Makes a PostgreSQL server one with TLS, by the certificate of a private CA for `localhost`. It
 * refuses plain text.
 */
export async function openTlsProxy(target: string) {
  const sockets = new Set<net.Socket>()
  const secureContext = tls.createSecureContext({
    cert: certificates.read('server.crt'),
    key: certificates.read('server.key'),
  })
  const serve = (client: net.Socket) => {
    const upstream = net.connect(addressOf(target))
    const secure = new tls.TLSSocket(client, { isServer: true, secureContext })
    secure.pipe(upstream).pipe(secure)
    for (const socket of [secure, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        secure.destroy()
        upstream.destroy()
      })
    }
  }
  const server = net.createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    client.once('data', (request) => {
      if (!request.equals(SSL_REQUEST)) return client.destroy()
      serve(client)
      client.write('S')
    })
  })
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo // it listens on TCP
  return {
    /** The URL of the database by this name of the host, with these parameters. */
    url: (host: 'localhost' | '127.0.0.1', parameters: string) => {
      const url = new URL(target)
      url.host = `${host}:${port}`
      url.search = parameters
      return url.href
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
