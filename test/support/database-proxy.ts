import { once } from 'node:events'
import net from 'node:net'

/** Where a connection is to be closed: at the nth answer since BEGIN, which is the first. */
export type LossPoint = { answer: number; isDelivered: boolean }

type Line = { client: net.Socket; upstream: net.Socket }

/**
 * A proxy in front of PostgreSQL. It closes connections the way a server or a pooler does: with a
 * FIN, at a place within a transaction. It can also let all its connections fall silent.
 */
export async function openDatabaseProxy(target: string) {
  const lines = new Set<Line>()
  let next: LossPoint | undefined
  let lostCount = 0
  let answeredBytes = 0
  let isDown = false
  /** How many connections from now on one is to be refused. */
  let refusedAfter = 0

  const end = (line: Line) => {
    lostCount += 1
    line.client.end()
    line.upstream.destroy()
  }
  // Messages are passed on one by one: with Nagle's algorithm each would wait for the one before.
  const server = net.createServer({ noDelay: true }, (client) => {
    client.on('error', () => {})
    if (isDown) return void client.destroy()
    refusedAfter -= 1
    if (refusedAfter === 0) {
      lostCount += 1
      return void client.destroy()
    }
    const upstream = net.connect({ ...addressOf(target), noDelay: true })
    const line = { client, upstream }
    lines.add(line)
    const answers = readAnswers()
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      answeredBytes += bytes.length
      for (const { message, place } of answers(bytes)) {
        const isHere = next !== undefined && place === next.answer
        if (!isHere || next?.isDelivered) client.write(message)
        if (!isHere) continue
        next = undefined
        return end(line)
      }
    })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => {})
      from.on('close', () => {
        lines.delete(line)
        if (!to.writableEnded) to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}` // listening on TCP
  return {
    url: url.href,
    /** How many bytes PostgreSQL has answered. */
    answeredBytes: () => answeredBytes,
    /** Closes the next connection that comes to this place. */
    closeAt: (point: LossPoint | undefined) => {
      next = point
    },
    /** Closes the nth new connection from now on at once; 0: none. */
    refuse: (nth: number) => {
      refusedAfter = nth
    },
    lostCount: () => lostCount,
    /** Closes all connections now. */
    closeAll: () => {
      for (const line of lines) end(line)
    },
    /** Closes all connections, and each new one at once, until the database is up again. */
    goDown: () => {
      isDown = true
      for (const line of lines) end(line)
    },
    comeBack: () => {
      isDown = false
    },
    /** Lets the connections that are open now fall silent, in both directions, for good. */
    silence: () => {
      for (const { client, upstream } of lines) {
        client.removeAllListeners('data').resume()
        upstream.removeAllListeners('data').resume()
      }
    },
    stop: () => {
      for (const { client, upstream } of lines) {
        client.destroy()
        upstream.destroy()
      }
      server.close()
    },
  }
}

/** Where a database URL leads to: a host, or the directory of a Unix socket. */
export function addressOf(target: string) {
  const { hostname, port } = new URL(target)
  const host = decodeURIComponent(hostname)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port: Number(port) }
}

const [COMMAND_COMPLETE, READY_FOR_QUERY] = [...Buffer.from('CZ')]
const IDLE = 'I'.charCodeAt(0)

/**
 * Splits what a server sends into messages. `place` counts the answers (ReadyForQuery) since BEGIN,
 * up to that of the end of the transaction.
 */
function readAnswers() {
  let rest = Buffer.alloc(0)
  let place: number | undefined
  return function* (bytes: Buffer) {
    rest = Buffer.concat([rest, bytes])
    while (rest.length > 4 && rest.length > rest.readUInt32BE(1)) {
      const message = rest.subarray(0, rest.readUInt32BE(1) + 1)
      rest = rest.subarray(message.length)
      if (message[0] === COMMAND_COMPLETE && message.toString('latin1', 5, 10) === 'BEGIN')
        place = 0
      const isAnswer = message[0] === READY_FOR_QUERY
      if (isAnswer && place !== undefined) place += 1
      yield { message, place: isAnswer ? place : undefined }
      if (isAnswer && message[5] === IDLE) place = undefined
    }
  }
}
