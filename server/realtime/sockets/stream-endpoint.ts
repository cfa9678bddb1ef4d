import { limits, streamPaths } from '@parley/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { hasMoreValues } from '../../core/count-values.ts'
import { ApiError } from '../../core/errors.ts'
import type { Metrics } from '../../core/metrics.ts'
import { handleCommands } from '../connection/commands.ts'
import { Connection } from '../connection/index.ts'
import type { RealtimeNode } from '../node.ts'
import type { Codec } from '../protocol/codec.ts'
import { eventStream, jsonLines } from '../protocol/json.ts'
import { decodeEmulation, protobuf } from '../protocol/protobuf.ts'
import type { EmulationRequest } from './emulation.ts'
import type { Guards } from './endpoint.ts'
import { observeSocket } from './observe-socket.ts'
import type { Strangers } from './strangers.ts'
import { StreamSocket } from './stream-socket.ts'
import { type TransportName, transportNames } from './transport.ts'

const PROTOBUF = 'application/octet-stream'

/** Make proxies pass each piece on at once and unchanged. */
const STREAM_HEADERS = { 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' }

type StreamOptions = {
  node: RealtimeNode
  metrics: Metrics
  guards: Guards
  strangers: Strangers
}

/**
 * Serves the protocol to clients whose network blocks WebSockets: a response that does not end
 * carries what they receive, and each request to the emulation path some of their commands.
 */
export function serveStreams(app: FastifyInstance, options: StreamOptions) {
  const { node, metrics, guards } = options
  for (const transport of transportNames) metrics.sockets.set({ transport }, 0)
  app.register(async (scope) => {
    readRawBodies(scope)
    scope.route({
      method: 'POST',
      url: streamPaths.http_stream,
      config: { streams: PROTOBUF, isEndless: true },
      bodyLimit: limits.bodyBytes,
      onRequest: guards.stream,
      // Checked again: the server may have begun to stop while the body arrived.
      preHandler: guards.stream,
      handler: (request, reply) => {
        const isBinary = request.headers['content-type'] === PROTOBUF
        openStream(request, reply, {
          ...options,
          transport: 'http_stream',
          codec: isBinary ? protobuf : jsonLines,
          type: isBinary ? PROTOBUF : 'application/json',
          commands: bodyOf(request),
        })
      },
    })
    scope.route({
      method: 'GET',
      url: streamPaths.sse,
      exposeHeadRoute: false,
      config: { isEndless: true },
      onRequest: guards.stream,
      handler: (request, reply) =>
        openStream(request, reply, {
          ...options,
          transport: 'sse',
          codec: eventStream,
          type: 'text/event-stream',
          commands: connectOf(request),
        }),
    })
    scope.route({
      method: 'POST',
      url: streamPaths.emulation,
      config: { streams: PROTOBUF },
      bodyLimit: limits.bodyBytes,
      onRequest: guards.origin,
      handler: async (request, reply) => {
        const outcome = await node.emulation.receive(emulationOf(request), request.ip)
        if (outcome === 'unknown') throw new ApiError('NOT_FOUND', 'Session not found')
        if (outcome === 'too many')
          throw new ApiError('RATE_LIMITED', 'Too many requests of this session or address at once')
        if (outcome === 'busy') throw new ApiError('UNAVAILABLE', 'The server is busy')
        return reply.code(204).send()
      },
    })
  })
}

type Opening = StreamOptions & {
  transport: TransportName
  codec: Codec
  type: string
  commands: Buffer
}

function openStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { node, metrics, strangers, transport, codec, type, commands }: Opening,
) {
  reply.hijack()
  const response = reply.raw
  // The client has left already, which is not reported again.
  if (response.destroyed) return
  reply.headers({ ...STREAM_HEADERS, 'Content-Type': type })
  response.writeHead(200, reply.getHeaders() as Record<string, string>) // ours are strings
  response.flushHeaders()
  if (codec === eventStream) response.write(':\n\n')
  const sessionId = node.tokens.newSessionId(node.nodeId)
  const socket = new StreamSocket({ response, codec, transport, sessionId })
  observeSocket(socket, request.raw, {
    metrics,
    onEnd: (facts) => request.server.log.info(facts, 'socket closed'),
    originOf: () => ({ address: request.ip, requestId: request.id }),
  })
  strangers.add(socket, socket)
  forgetGiven(request)
  const connection = new Connection({ socket, codec, node, handle: handleCommands })
  node.emulation.add(socket, connection)
  socket.once('close', () => connection.closed())
  socket.received(commands)
  connection.receive(commands, codec.isBinary)
}

/**
 * Empties what a client has given in its request, which stays in memory as long as the stream, and
 * may be ten times what a socket takes.
 */
function forgetGiven(request: FastifyRequest) {
  Object.assign(request.raw, { headers: {}, rawHeaders: [], url: '' })
  Object.assign(request, { query: {}, body: undefined })
}

/** Bodies are decoded by the protocol. */
function readRawBodies(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
}

function bodyOf({ body }: FastifyRequest) {
  if (Buffer.isBuffer(body) && body.length > 0) return body
  throw new ApiError('VALIDATION_ERROR', 'body: expected commands')
}

const ConnectQuery = z.object({ cf_connect: z.string().min(1) })
function connectOf({ query }: FastifyRequest) {
  const { data } = ConnectQuery.safeParse(query)
  if (data) return Buffer.from(data.cf_connect)
  throw new ApiError('VALIDATION_ERROR', 'cf_connect: expected a connect command')
}

/**
 * The most JSON values of a request of commands, which needs four. Anybody may send one, and
 * parsing values costs far more than reading bytes.
 */
const MOST_VALUES = 16
const address = { session: z.string(), node: z.string() }
const TextRequest = z.object({ ...address, data: z.string() })
const BinaryRequest = z.object({ ...address, data: z.instanceof(Uint8Array) })

function emulationOf(request: FastifyRequest): EmulationRequest {
  const body = bodyOf(request)
  try {
    if (request.headers['content-type'] !== PROTOBUF) {
      if (hasMoreValues(body, MOST_VALUES)) throw new Error('expected few values')
      const { session, ...rest } = TextRequest.parse(JSON.parse(body.toString()))
      return { ...rest, sessionId: session, isBinary: false }
    }
    const { session, node, data } = BinaryRequest.parse(decodeEmulation(body, MOST_VALUES))
    const text = Buffer.from(data).toString('base64')
    return { sessionId: session, node, data: text, isBinary: true }
  } catch {
    throw new ApiError('VALIDATION_ERROR', 'body: expected session, node and data')
  }
}
