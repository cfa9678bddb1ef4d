import net from 'node:net'

/**
 * A connection to a server that can be cut: at once, or after a number of bytes, amid a message.
 */
export async function openProxy(target: string) {
  let upstreamUrl = new URL(target)
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(upstreamUrl.port), upstreamUrl.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        const part = bytes.subarray(0, budget)
        budget -= part.length
        to.write(part)
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
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`, // listening on TCP
    cut,
    cuts: () => cuts,
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
