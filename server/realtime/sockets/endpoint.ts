import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import websocket from '@fastify/websocket'
import { endpointPath, limits } from '@parley/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { ApiError } from '../../core/errors.ts'
import type { Metrics } from '../../core/metrics.ts'
import { ForeignOriginError, mayConnect } from '../../core/origins.ts'
import { handleCommands } from '../connection/commands.ts'
import { Connection } from '../connection/index.ts'
import type { RealtimeNode } from '../node.ts'
import type { Codec } from '../protocol/codec.ts'
import { json } from '../protocol/json.ts'
import { protobuf } from '../protocol/protobuf.ts'
import { CountedSocket, forgetRequest } from './counted-socket.ts'
import { observeSocket, type SocketOrigin } from './observe-socket.ts'
import type { Strangers } from './strangers.ts'
import type { Transport } from './transport.ts'
import { boundUnfinishedFrames } from './unfinished-frames.ts'

/** The origin of each socket that is being opened. */
const origins = new WeakMap<IncomingMessage, SocketOrigin>()

/**
 * How many fragments a message may have. Each takes microseconds, however short it is; clients that
 * send fragments fill them with kilobytes.
 */
const MOST_FRAGMENTS = 1_024

/** How long a client has to answer the closing handshake. */
const HANDSHAKE_MS = 5_000

type SocketsOptions = {
  metrics: Metrics
  close: () => Promise<void>
  /** How many bytes of unfinished frames this node may keep. */
  mostBytes: number
  strangers: Strangers
}

/** Serves WebSockets, with limits on the size of their frames. */
export function serveWebSockets(
  app: FastifyInstance,
  { metrics, close, mostBytes, strangers }: SocketsOptions,
) {
  const ours = () => app.websocketServer.clients as Set<CountedSocket> // all that it makes
  const stopBounding = boundUnfinishedFrames(ours, { mostBytes, metrics })
  app.register(websocket, {
    options: {
      maxPayload: limits.realtime.frameBytes,
      maxFragments: MOST_FRAGMENTS,
      perMessageDeflate: false,
      handleProtocols: chooseProtocol,
      WebSocket: CountedSocket as never, // the types want all of the module ws
    },
    errorHandler: (_, socket) => socket.terminate(),
    preClose: async () => {
      stopBounding()
      await close()
      for (const socket of app.websocketServer.clients) socket.terminate()
      app.websocketServer.close()
    },
  })
  app.after(() => {
    // Otherwise ws answers malformed handshakes, in a format of its own.
    app.websocketServer.on('wsClientError', ({ message }: Error, socket: Duplex) => {
      app.server.emit('clientError', new ApiError('VALIDATION_ERROR', message), socket)
    })
    app.websocketServer.on('connection', (socket: CountedSocket, request: IncomingMessage) => {
      socket.readsFrom(request.socket)
      strangers.add(socket, request.socket)
      observeSocket(socket, request, {
        metrics,
        onEnd: (facts) => app.log.info(facts, 'socket closed'),
        originOf: (request) => origins.get(request),
      })
    })
  })
}

/** Serves the endpoint of the protocol, in both encodings. */
export function serveEndpoint(
  app: FastifyInstance,
  { node, guardSocket }: { node: RealtimeNode; guardSocket: Guards['socket'] },
) {
  app.register(async (scope) => {
    scope.route({
      method: 'GET',
      url: endpointPath,
      config: { hasSockets: true },
      preHandler: guardSocket,
      handler: () => {
        throw new ApiError('NOT_FOUND', 'This address is for WebSockets')
      },
      wsHandler: (socket, request) => {
        const codec = codecOf(socket.protocol, request.query)
        openConnection(socket, codec, node)
      },
    })
  })
}

type SocketGuardOptions = {
  isAllowedOrigin: (origin: string) => boolean
  isClosing: () => boolean
  isOutage: () => boolean
}

/** Refuses connections by their origin, or while the server stops or its database is lost. */
export function createGuards({ isAllowedOrigin, isClosing, isOutage }: SocketGuardOptions) {
  const checkOrigin = ({ headers }: FastifyRequest) => {
    if (mayConnect(headers, isAllowedOrigin)) return
    throw new ForeignOriginError()
  }
  const check = (request: FastifyRequest) => {
    if (isClosing()) throw new ApiError('UNAVAILABLE', 'The server is stopping')
    if (isOutage()) throw new ApiError('UNAVAILABLE', 'The database is out of reach')
    checkOrigin(request)
  }
  return {
    /** Checks a handshake before the upgrade to a WebSocket. */
    socket: async (request: FastifyRequest, reply: FastifyReply) => {
      if (!request.ws) return
      origins.set(request.raw, { address: request.ip, requestId: request.id })
      check(request)
      // The socket is upgraded: its request and reply need not stay in memory with it.
      reply.raw.detachSocket(request.raw.socket)
    },
    stream: async (request: FastifyRequest) => check(request),
    /** Commands need only this check: their connection passed the others. */
    origin: async (request: FastifyRequest) => checkOrigin(request),
  }
}
export type Guards = ReturnType<typeof createGuards>

function openConnection(socket: WebSocket, codec: Codec, node: RealtimeNode) {
  const connection = new Connection({ socket, codec, node, handle: handleCommands })
  forgetRequest(socket)
  socket.on('message', (frame: Buffer, isBinary: boolean) => connection.receive(frame, isBinary))
  socket.on('close', () => connection.closed())
}

export const terminateLater = (socket: Transport) => {
  const timer = setTimeout(() => socket.terminate(), HANDSHAKE_MS)
  socket.once('close', () => clearTimeout(timer))
}

const chooseProtocol = (offered: Set<string>) =>
  ['centrifuge-protobuf', 'centrifuge-json'].find((protocol) => offered.has(protocol)) ?? false

type CodecQuery = { format?: unknown; cf_protocol?: unknown }

const codecOf = (protocol: string, query: unknown) => {
  const { format, cf_protocol } = query as CodecQuery // Fastify parses queries into objects
  if (protocol === 'centrifuge-protobuf') return protobuf
  const isProtobufAsked = format === 'protobuf' || cf_protocol === 'protobuf'
  return protocol === '' && isProtobufAsked ? protobuf : json
}
