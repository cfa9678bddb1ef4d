import websocket from '@fastify/websocket'
import { endpointPath, limits } from '@parley/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { fail } from '../core/errors.ts'
import type { Metrics } from '../core/metrics.ts'
import { mayConnect } from '../core/origins.ts'
import { handleCommands } from './connection/commands.ts'
import { Connection } from './connection/index.ts'
import type { RealtimeNode } from './node.ts'
import type { Codec } from './protocol/codec.ts'
import { json } from './protocol/json.ts'
import { protobuf } from './protocol/protobuf.ts'

/** What a client that does not answer the closing handshake is given. */
const HANDSHAKE_MS = 5_000

/** Serves WebSockets: their sizes and origins are judged before anything else. */
export function serveWebSockets(
  app: FastifyInstance,
  { metrics, close }: { metrics: Pick<Metrics, 'sockets'>; close: () => Promise<void> },
) {
  app.register(websocket, {
    options: {
      maxPayload: limits.realtime.frameBytes,
      perMessageDeflate: false,
      handleProtocols: chooseProtocol,
    },
    errorHandler: (_, socket) => socket.terminate(),
    preClose: async () => {
      await close()
      for (const socket of app.websocketServer.clients) socket.terminate()
      app.websocketServer.close()
    },
  })
  app.after(() => {
    app.websocketServer.on('connection', (socket) => {
      metrics.sockets.inc()
      socket.on('close', () => metrics.sockets.dec())
    })
  })
}

/** The endpoint of the protocol, in both framings. */
export function serveEndpoint(
  app: FastifyInstance,
  { node, admitSocket }: { node: RealtimeNode; admitSocket: ReturnType<typeof createAdmission> },
) {
  app.register(async (scope) => {
    scope.route({
      method: 'GET',
      url: endpointPath,
      preHandler: admitSocket,
      handler: () => fail('NOT_FOUND', 'This address is for WebSockets'),
      wsHandler: (socket, request) =>
        connect(socket, codecOf(socket.protocol, request.query), node),
    })
  })
}

/** Who may open a socket; others are refused while it is still HTTP. */
export const createAdmission =
  ({
    isAllowedOrigin,
    isClosing,
  }: {
    isAllowedOrigin: (origin: string) => boolean
    isClosing: () => boolean
  }) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    if (!request.ws) return
    if (isClosing()) return fail('UNAVAILABLE', 'The server is stopping')
    if (!mayConnect(request.headers, isAllowedOrigin))
      return fail('FORBIDDEN', 'This origin is not allowed')
    // The answer is the socket's from now on: its request and reply need not stay in memory with it.
    reply.raw.detachSocket(request.raw.socket)
  }

function connect(socket: WebSocket, codec: Codec, node: RealtimeNode) {
  const connection = new Connection({ socket, codec, node, handle: handleCommands })
  // The plugin's listener holds on to the request.
  socket.removeAllListeners('error')
  socket.on('error', ignore)
  socket.on('message', (frame: Buffer, isBinary: boolean) => connection.receive(frame, isBinary))
  socket.on('close', () => connection.closed())
}
const ignore = () => {}

export const terminateLater = (socket: WebSocket) => {
  const timer = setTimeout(() => socket.terminate(), HANDSHAKE_MS)
  socket.once('close', () => clearTimeout(timer))
}

const chooseProtocol = (offered: Set<string>) =>
  ['centrifuge-protobuf', 'centrifuge-json'].find((protocol) => offered.has(protocol)) ?? false

const codecOf = (protocol: string, query: unknown) => {
  const { format, cf_protocol } = query as { format?: unknown; cf_protocol?: unknown } // Fastify's parser makes an object
  return protocol === 'centrifuge-protobuf' ||
    (protocol === '' && (format === 'protobuf' || cf_protocol === 'protobuf'))
    ? protobuf
    : json
}
