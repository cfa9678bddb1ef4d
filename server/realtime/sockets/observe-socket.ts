import type { IncomingMessage } from 'node:http'
import { copyOf } from '../../core/copy-of.ts'
import type { Metrics } from '../../core/metrics.ts'
import { closings } from '../protocol/codes.ts'
import type { CountedSocket } from './counted-socket.ts'
import type { StreamSocket } from './stream-socket.ts'

type SocketMetrics = Pick<
  Metrics,
  'sockets' | 'socketCloses' | 'slowConsumers' | 'credentialsRefused'
>
/** The client's address, taken from the request: the socket's own may be a proxy's. */
export type SocketOrigin = { address: string; requestId: string }
type ObserveOptions = {
  metrics: SocketMetrics
  /** Called with the facts of a socket that has ended. */
  onEnd: (facts: object) => void
  originOf: (request: IncomingMessage) => SocketOrigin | undefined
}

/** Other codes are counted together, since clients may send any, and each would be a series. */
const KNOWN_CODES = new Set([
  ...Object.values(closings).map(({ code }) => code),
  ...[1000, 1001, 1005, 1006, 1007, 1009],
])

/** Counts a socket, and reports its facts when it ends. */
export function observeSocket(
  socket: CountedSocket | StreamSocket,
  request: IncomingMessage,
  { metrics, onEnd, originOf }: ObserveOptions,
) {
  const { address, requestId } = originOf(request) ?? {}
  const facts = {
    path: copyOf(request.url?.split('?')[0]),
    address: copyOf(address),
    requestId: copyOf(requestId),
  }
  const { socket: tcp } = request
  const { transport } = socket
  metrics.sockets.inc({ transport })
  socket.on('close', (received: number) => {
    // The side that closes first gives the reason; the other repeats it, or is gone.
    const code = socket.closedWith ?? received
    metrics.sockets.dec({ transport })
    metrics.socketCloses.inc({ code: KNOWN_CODES.has(code) ? String(code) : 'other' })
    if (code === closings.slow.code) metrics.slowConsumers.inc({ reason: 'unread' })
    if (code === closings.invalidToken.code)
      metrics.credentialsRefused.inc({ credential: 'ws_token', code: 'INVALID_TOKEN' })
    onEnd({
      app: socket.user?.appId,
      user: socket.user?.userId,
      code,
      transport,
      seconds: Math.round((performance.now() - socket.openedAt) / 1_000),
      framesIn: socket.framesReceived,
      framesOut: socket.framesSent,
      bytesIn: tcp.bytesRead,
      bytesOut: tcp.bytesWritten,
      ...facts,
    })
  })
}
