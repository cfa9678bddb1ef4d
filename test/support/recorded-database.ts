import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { inject } from 'vitest'
import { addressOf } from './database-proxy.ts'
import { noteStatement } from './sql/sent.ts'

/**
 * Does some work with an address of the database at which the statements are noted that come by,
 * whoever sends them: also those of commands, which open connections of their own.
 */
export async function withRecordedDatabase<Result>(
  databaseUrl: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ ...addressOf(databaseUrl), noDelay: true })
    const readStatements = createReader()
    client.on('data', (bytes) => {
      for (const statement of readStatements(bytes)) noteStatement(inject('statements'), statement)
    })
    client.pipe(upstream).pipe(client)
    // A reset of one does not end the other by itself.
    upstream.on('close', () => client.end())
    client.on('close', () => upstream.end())
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
  try {
    return await work(url.href)
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
}

const PARSE = 'P'.charCodeAt(0)

/** Finds the statements in what a client sends: the texts of its Parse messages. */
function createReader() {
  let rest = Buffer.alloc(0)
  // The first message has no type.
  let typeLength = 0
  return function* (bytes: Buffer) {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      if (rest.length < typeLength + 4) return
      const length = typeLength + rest.readUInt32BE(typeLength)
      if (rest.length < length) return
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      if (typeLength === 1 && message[0] === PARSE) {
        const [, statement = ''] = message.toString('utf8', 5).split('\0', 2)
        yield statement
      }
      typeLength = 1
    }
  }
}
