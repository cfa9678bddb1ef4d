import net from 'node:net'

/**
 * A connection to a server that can be cut: at once, or after a number of bytes, amid a message. It
 * can also go silent, hold what the server says, or let it wait for `delayMs`.
 */
export async function openProxy(target: string, { delayMs = 0 } = {}) {
  let upstreamUrl = new URL(target)
  const sockets = new Set<net.Socket>()
  const silent = new WeakSet<net.Socket>()
  let held: (() => void)[] | undefined
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ ...addressOf(upstreamUrl), noDelay: true })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (silent.has(from)) return
        const part = bytes.subarray(0, budget)
        budget -= part.length
        const pass = () => void (to.writable && to.write(part))
        if (from === upstream && held) held.push(pass)
        else if (from === upstream && delayMs > 0) setTimeout(pass, delayMs)
        else pass()
        if (budget <= 0) cut()
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  let budget = Number.POSITIVE_INFINITY
  let cuts = 0
  const cut = () => {
    cuts += 1
    budget = Number.POSITIVE_INFINITY
    for (const socket of sockets) reset(socket)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, // listening on TCP
    cut,
    cuts: () => cuts,
    /** The connections that are open now lose all bytes without closing. New ones work. */
    silence: () => {
      for (const socket of sockets) silent.add(socket)
    },
    /** Holds what the server says, until the function that this returns is called. */
    hold: () => {
      held = []
      return () => {
        const passes = held ?? []
        held = undefined
        for (const pass of passes) pass()
      }
    },
    /** The address of the database `target` by way of this proxy. */
    get databaseUrl() {
      const { username, password, pathname } = new URL(target)
      const { host } = new URL(this.url)
      return `postgres://${username}${password && `:${password}`}@${host}${pathname}`
    },
    /** Leads new connections to another server. */
    redirect: (to: string) => {
      upstreamUrl = new URL(to)
    },
    cutAfter: (bytes: number) => {
      budget = bytes
    },
    close: () => {
      cut()
      server.close()
    },
  }
}

/** The address of a server, which for PostgreSQL may be a socket in a directory. */
function addressOf({ hostname, port }: URL): net.NetConnectOpts {
  const host = decodeURIComponent(hostname)
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` }
  return { host, port: Number(port) }
}

/** Only TCP knows resets. */
const reset = (socket: net.Socket) =>
  socket.remoteFamily === undefined ? socket.destroy() : socket.resetAndDestroy()
