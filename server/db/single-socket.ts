import { Socket } from 'node:net'

/** The connection to the database was closed. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError'
  readonly code = 'CONNECTION_CLOSED'
  constructor() {
    super('the connection to the database was closed')
  }
}

/** The options of Postgres.js that say where the server is. */
export type ConnectTarget = { host: string[]; port: number[]; path: string | false }

/**
 * The `socket` option of a Postgres.js client that must not reconnect: only its first socket leads
 * to the server. A client that reconnected would run the rest of a transaction outside of it,
 * statement by statement.
 *
 * Postgres.js makes another one, and reports nothing, if the connection ends before its start-up is
 * answered. It learns of the end from that socket, which fails: so do all statements that wait.
 */
export const singleSocket = () => {
  let isMade = false
  return (address: ConnectTarget) => {
    const isFirst = !isMade
    isMade = true
    return isFirst ? socketTo(address) : closedSocket()
  }
}

/** A socket that connects later, because Postgres.js adds its listeners once it has it. */
export function socketTo({ host: [host], port: [port], path }: ConnectTarget) {
  const socket = new Socket()
  // If it was destroyed meanwhile the listeners are gone: it would open again, and an error of it
  // would end the process.
  setImmediate(() => {
    const address = path ? { path } : { host, port: port ?? 0 }
    if (!socket.destroyed) socket.connect(address)
  })
  // Postgres.js takes the server's name for TLS from this field.
  return Object.assign(socket, { host })
}

/**
 * A socket that fails. Its events come after all microtasks: Postgres.js has added its listeners by
 * then, and has written its greeting, which must not fail by another error.
 */
export function closedSocket() {
  const socket = new Socket()
  queueMicrotask(() => socket.destroy(new ConnectionClosedError()))
  return socket
}
