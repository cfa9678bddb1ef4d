import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { streamPaths } from '@parley/contract'

const transports = ['http_stream', 'sse'] as const
type Faults = {
  isCut: boolean
  losesAnswers: boolean
  delayMs: number
  /** How WebSockets are blocked, if they are: by an answer of 403, or by no answer. */
  webSockets?: 'refused' | 'swallowed' | undefined
}

/**
 * The network between a client and its server, which can be cut, slowed, reset, or lose answers.
 */
export async function createProxy(target: string) {
  const { hostname, port } = new URL(target)
  const pairs = new Set<{ client: Socket; server: Socket; isWebSocket: boolean; isDead: boolean }>()
  /** The HTTP requests, as in `POST /api/sync`. A WebSocket starts with a GET. */
  const requests: string[] = []
  const network: Faults = { isCut: false, losesAnswers: false, delayMs: 0 }
  const opened = { http_stream: 0, sse: 0 }
  let sockets = 0

  const server = createServer((client) => {
    if (network.isCut) return client.destroy()
    const upstream = connect(Number(port), hostname)
    const pair = { client, server: upstream, isWebSocket: false, isDead: false }
    pairs.add(pair)
    const [up, down] = [inOrder(), inOrder()]
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const side of [client, upstream]) side.on('error', end).on('close', end).setNoDelay(true)
    client.on('data', (data) => {
      const [, request] =
        /^((?:GET|POST|PUT|PATCH|DELETE) [^ ?]+)/.exec(data.toString('latin1')) ?? []
      if (request) requests.push(request)
      if (request?.includes('/connection/websocket')) {
        sockets += 1
        pair.isWebSocket = true
        if (network.webSockets === 'refused') client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
        if (network.webSockets !== undefined) return
      }
      for (const name of transports) {
        if (request?.includes(streamPaths[name])) opened[name] += 1
      }
      up(() => !pair.isDead && upstream.writable && upstream.write(data))
    })
    upstream.on('data', (data) => {
      if (!network.losesAnswers && !pair.isDead) down(() => client.writable && client.write(data))
    })
  })
  /** One direction of a connection. Bytes keep their order even when the delay changes. */
  const inOrder = () => {
    const waiting: (() => void)[] = []
    return (work: () => void) => {
      if (network.delayMs === 0 && waiting.length === 0) return work()
      waiting.push(work)
      setTimeout(() => waiting.shift()?.(), network.delayMs)
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo // it listens to a port
  const reset = () => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
  }

  return {
    url: `http://127.0.0.1:${own}`,
    wsUrl: `ws://127.0.0.1:${own}/connection/websocket`,
    requests,
    /** The number of WebSockets opened so far. */
    get sockets() {
      return sockets
    },
    get open() {
      return pairs.size
    },
    /** Whether a WebSocket is open now. A client learns a moment later that it is not. */
    get hasSocket() {
      return [...pairs].some(({ client, isWebSocket }) => isWebSocket && !client.destroyed)
    },
    cut: () => {
      network.isCut = true
      reset()
    },
    mend: () => {
      network.isCut = false
    },
    reset,
    delay: (ms: number) => {
      network.delayMs = ms
    },
    /** How many streams were opened so far. */
    opened,
    /** From now on no WebSocket is let through; undefined: all are. */
    block: (webSockets: Faults['webSockets']) => {
      network.webSockets = webSockets
    },
    /** Requests arrive, and their answers are lost. */
    loseAnswers: (isLosing: boolean) => {
      network.losesAnswers = isLosing
    },
    /** The WebSockets that are open now go silent without closing. New ones work. */
    deaden: () => {
      for (const pair of pairs) pair.isDead = pair.isWebSocket
    },
    stop: async () => {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}
export type Network = Awaited<ReturnType<typeof createProxy>>
