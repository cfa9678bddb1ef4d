import { Socket } from 'node:net'

/** The connection to the database was closed. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError'
  readonly code = 'CONNECTION_CLOSED'
  constructor() {
    super('the connection to the database was closed')
  }
}

/** Of Postgres.js's options, those that say where the server is. */
type Address = { host: string[]; port: number[]; path: string | false }

/**
 * The `socket` option of a Postgres.js client that must not reconnect: it makes one socket and
 * refuses to make another. A client that reconnected would run the rest of a transaction outside of
 * it, statement by statement.
 */
export const singleSocket = () => {
  let isMade = false
  return ({ host: [host], port: [port], path }: Address) => {
    if (isMade) throw new ConnectionClosedError()
    isMade = true
    const socket = new Socket()
    // Later, because Postgres.js adds its listeners once it has the socket. If it was destroyed
    // meanwhile they are gone: it would open again, and an error of it would end the process.
    setImmediate(() => {
      if (!socket.destroyed) socket.connect(path ? { path } : { host, port: port ?? 0 })
    })
    // Postgres.js takes the server's name for TLS from this field.
    return Object.assign(socket, { host })
  }
}
