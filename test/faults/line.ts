import { once } from 'node:events'
import net from 'node:net'

type Pair = { near: net.Socket; far: net.Socket; isSilent: boolean }
/** Says of an answer within a transaction whether the connection ends there, and on which side. */
type Closure = () => 'before' | 'after' | undefined

/** The end of an answer within a transaction: ReadyForQuery, with the state T. */
const IN_TRANSACTION = Buffer.from('Z\0\0\0\x05T', 'latin1')
/** The whole message by which PostgreSQL answers a COMMIT: its type, its length and its text. */
const COMMITTED = Buffer.from('C\0\0\0\x0bCOMMIT\0', 'latin1')

/**
 * A proxy in front of a node or of the database, which breaks the way in all the ways in which
 * networks do. Each connection goes where `target` says when it is opened.
 */
export async function openLine(target: () => string) {
  let delayMs = 0
  let isFrozen = false
  let isRefusing = false
  let onCommitted: (() => void) | undefined
  let closure: Closure | undefined
  const pairs = new Set<Pair>()
  const held = new Set<net.Socket>()

  const connect = (near: net.Socket) => {
    const far = net.connect(addressOf(target()))
    const pair = { near, far, isSilent: false }
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    const [up, down] = [inOrder(), inOrder()]
    const finish = (side: net.Socket) => side.writable && side.end()
    near.on('data', (bytes) => up(() => !pair.isSilent && far.writable && far.write(bytes)))
    near.on('end', () => up(() => !pair.isSilent && finish(far)))
    far.on('data', (bytes) => {
      if (onCommitted && bytes.includes(COMMITTED)) {
        onCommitted()
        onCommitted = undefined
        return end()
      }
      const place = bytes.subarray(-IN_TRANSACTION.length).equals(IN_TRANSACTION) && closure?.()
      if (place) {
        if (place === 'after') near.write(bytes)
        near.end()
        return void far.destroy()
      }
      down(() => !pair.isSilent && near.writable && near.write(bytes))
    })
    far.on('end', () => down(() => !pair.isSilent && finish(near)))
    for (const side of [near, far]) side.on('close', end).on('error', end).setNoDelay(true)
  }
  /** One direction of a connection: bytes keep their order when the delay changes. */
  const inOrder = () => {
    const waiting: (() => void)[] = []
    return (pass: () => void) => {
      if (delayMs === 0 && waiting.length === 0) return pass()
      waiting.push(pass)
      setTimeout(() => waiting.shift()?.(), delayMs)
    }
  }
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) => {
    near.on('error', () => near.destroy())
    if (isRefusing) return void near.destroy()
    if (isFrozen) return void held.add(near)
    connect(near)
    near.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo // it listens on TCP
  const cut = () => {
    for (const { near, far } of pairs) {
      near.resetAndDestroy()
      far.destroy()
    }
  }

  /** Ends all connections the polite way, as a server or a pooler that stops does. */
  const finish = () => {
    for (const { near, far } of pairs) {
      near.end()
      far.destroy()
    }
  }

  return {
    host: `127.0.0.1:${port}`,
    /** Resets all connections. */
    cut,
    finish,
    /** The same, and closes each new connection as soon as it is opened, until `accept`. */
    refuse: () => {
      isRefusing = true
      finish()
    },
    accept: () => {
      isRefusing = false
    },
    /** The connections that are open now lose all bytes, without closing. New ones work. */
    silence: () => {
      for (const pair of pairs) pair.isSilent = true
    },
    /** Holds all bytes of old and new connections until `thaw`, which lets them pass. */
    freeze: () => {
      isFrozen = true
      for (const { near, far } of pairs) {
        near.pause()
        far.pause()
      }
    },
    thaw: () => {
      isFrozen = false
      for (const { near, far } of pairs) {
        near.resume()
        far.resume()
      }
      for (const near of held) {
        held.delete(near)
        connect(near)
        near.resume()
      }
    },
    delay: (milliseconds: number) => {
      delayMs = milliseconds
    },
    /** Ends connections as `finish` does, where `where` says. A call without it stops that. */
    closeInTransactions: (where?: Closure) => {
      closure = where
    },
    /** Cuts the next connection on which a COMMIT is answered, in place of the answer. */
    swallowCommit: () => new Promise<void>((resolve) => (onCommitted = resolve)),
    close: () => {
      server.close()
      cut()
      for (const near of held) near.destroy()
    },
  }
}

/** The address of a server, which for PostgreSQL may be a socket in a directory. */
function addressOf(target: string): net.NetConnectOpts {
  const { hostname, port } = new URL(target)
  const host = decodeURIComponent(hostname)
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}`, allowHalfOpen: true }
  return { host, port: Number(port), allowHalfOpen: true }
}
