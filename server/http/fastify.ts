import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '@parley/contract'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { ApiError } from '../core/errors.ts'
import { logFormat } from '../core/log-format.ts'
import { logOutput } from '../core/log-output.ts'
import type { Metrics } from '../core/metrics.ts'
import { ForeignOriginError, isAllowedOrigin } from '../core/origins.ts'
import { isTracing } from '../core/spans.ts'
import { readBodies } from './bodies.ts'
import { boundConnections } from './bound-connections.ts'
import { handleClientErrors } from './client-errors.ts'
import { corsHeaders, isPreflight } from './cors.ts'
import { logError, statusOf, toApiError, toErrorBody } from './errors.ts'
import { createKnownApps } from './known-apps.ts'
import { noSchemas } from './no-schemas.ts'
import { createTurns, onTurn } from './pipelining.ts'
import { factsOf, noteError, noteForeignOrigin } from './request-facts.ts'
import { logRequests } from './request-log.ts'
import { traceRequests } from './request-spans.ts'
import { ServedRequest } from './served-request.ts'

export type FastifyOptions = {
  allowedOrigins: readonly string[]
  trustProxy: string | ((address: string, hop: number) => boolean) | false
  logLevel: string
  /** The share of requests that succeeded in time and are logged. */
  logSample: number
  /** How many connections an address may have open; 0: any number. */
  connectionsPerAddress?: number | undefined
  nodeId: string
  /** The number of this worker process, if several share the port. */
  worker?: number | undefined
  /** Whether clients should send their next requests over other connections. */
  isStopping: () => boolean
  metrics: Pick<Metrics, 'responses'>
}

/** A Fastify whose responses all have our headers and error format, before and after operations. */
export function createFastify({
  allowedOrigins,
  logSample,
  connectionsPerAddress = 0,
  isStopping,
  metrics,
  ...options
}: FastifyOptions): FastifyInstance {
  const commonHeaders = (id: string, headers: IncomingHttpHeaders) => ({
    'X-Request-Id': id,
    // Answers are for their caller alone, and some contain tokens. The files of pages set another
    // value.
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...corsHeaders(allowedOrigins, headers),
  })
  const app = Fastify({
    ...serverOptions(options),
    frameworkErrors: (_, request, reply) => {
      closeRefusedUpgrade(request, reply)
      reply.headers(commonHeaders(request.id, request.headers))
      const message = 'path: expected valid percent-encoding'
      return sendError(new ApiError('VALIDATION_ERROR', message), request, reply)
    },
    clientErrorHandler: () => {},
  })
  handleClientErrors(app.server, {
    commonHeaders,
    onRefused: (refused) => {
      metrics.responses.inc({ status: refused.status })
      app.log.info(refused, 'request refused unread')
    },
  })
  closeConnections(app, isStopping)
  boundConnections(app.server, connectionsPerAddress)
  if (isTracing()) traceRequests(app)
  const apps = createKnownApps()
  const turnOf = createTurns()
  // Hooks with a callback: promises would take each request through the queue of microtasks.
  logRequests(app, { sample: logSample, metrics })
  app.addHook('onRequest', (request, reply, done) =>
    turnOf(() => apps.ofOrNetwork(request), request.raw, reply.raw, done),
  )
  app.addHook('onResponse', ({ raw }, _, done) => {
    apps.remember(raw, factsOf(raw).appId)
    done()
  })
  app.addHook('onRequest', (request, reply, done) => {
    closeRefusedUpgrade(request, reply)
    reply.headers(commonHeaders(request.id, request.headers))
    if (isPreflight(request)) {
      const { headers, raw } = request
      if (!isAllowedOrigin(allowedOrigins, headers.origin))
        noteForeignOrigin(factsOf(raw), headers.origin)
      return void reply.code(204).send()
    }
    done(refusalOf(request, reply))
  })
  readBodies(app)
  app.setErrorHandler(sendError)
  return app
}

/** How requests are read, named and logged. */
const serverOptions = ({
  trustProxy,
  logLevel,
  nodeId,
  worker,
}: Pick<FastifyOptions, 'trustProxy' | 'logLevel' | 'nodeId' | 'worker'>) => ({
  logger: { ...logFormat(logLevel, nodeId, worker), stream: logOutput() },
  logController: new LogController({
    disableRequestLogging: true,
    requestIdLogLabel: 'requestId',
  }),
  genReqId: ({ headers }: IncomingMessage) => requestId(headers),
  bodyLimit: limits.bodyBytes,
  trustProxy,
  // Above the longest path that Node.js accepts: operations themselves check the length of ids.
  routerOptions: { maxParamLength: 100_000 },
  requestTimeout: 30_000,
  forceCloseConnections: 'idle' as const,
  return503OnClosing: false,
  // Node.js would respond in its own format.
  http: { requireHostHeader: false, IncomingMessage: ServedRequest },
  schemaController: noSchemas,
})

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const apiError = toApiError(error)
  logError(request.log, error, apiError)
  const facts = factsOf(request.raw)
  if (facts.code === undefined) noteError(facts, apiError)
  if (error instanceof ForeignOriginError) noteForeignOrigin(facts, request.headers.origin)
  const { retryAfterSeconds } = apiError
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds))
  return reply.code(statusOf(apiError)).send(toErrorBody(apiError))
}

/** How soon a connection that was accepted while the server closes must send its request. */
const LATE_REQUEST_MS = 1_000

/**
 * When the server is about to stop, every response becomes the last one on its connection: a client
 * that kept it open would send its next request to a server that is closing. When it closes, so do
 * the pending responses. After these, all remaining connections are closed: Node.js would keep
 * those that have not sent a request yet, because it does not count them as idle.
 */
function closeConnections(app: FastifyInstance, isStopping: () => boolean) {
  const unanswered = new Set<ServerResponse>()
  let isClosing = false
  const closeWhenAnswered = () => {
    for (const response of unanswered) response.shouldKeepAlive = false
    if (unanswered.size === 0) app.server.closeAllConnections()
  }
  const wait = (response: ServerResponse) => {
    unanswered.add(response)
    if (isClosing || isStopping()) response.shouldKeepAlive = false
    response.once('close', () => {
      unanswered.delete(response)
      if (isClosing) closeWhenAnswered()
    })
  }
  app.server.prependListener('request', (_, response) => onTurn(response, () => wait(response)))
  // A connection that is accepted meanwhile may never send a request, whose answer would end it.
  app.server.on('connection', () => {
    if (isClosing) setTimeout(closeWhenAnswered, LATE_REQUEST_MS).unref()
  })
  app.addHook('preClose', async () => {
    isClosing = true
    closeWhenAnswered()
  })
}

/**
 * An upgrade that is answered over HTTP ends its connection: Node.js has stopped reading it, and
 * nobody else would notice that the client has left. An upgraded socket leaves its response.
 */
function closeRefusedUpgrade({ raw }: FastifyRequest, reply: FastifyReply) {
  if (!isUpgrade(raw)) return
  reply.raw.shouldKeepAlive = false
  reply.raw.once('finish', () => raw.socket.destroySoon())
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** For developers whose `url` is the address of the API or of a page, not of the server. */
const NO_ROUTE =
  "No such route; a client's url is the server's address, without /api or another path"

/** Why a request is not served at all. */
function refusalOf(request: FastifyRequest, reply: FastifyReply) {
  // TRACE would return headers that proxies have added, so no path supports it.
  if (request.method === 'TRACE') {
    reply.header('Allow', METHODS)
    return new ApiError('METHOD_NOT_ALLOWED', 'TRACE is not served')
  }
  return request.is404 ? new ApiError('NOT_FOUND', NO_ROUTE) : refusalOfUpgrade(request)
}

/**
 * Refuses upgrades on paths without WebSockets. The plugin would accept one past all guards, close
 * it, and log its URL, which may contain a token.
 */
function refusalOfUpgrade({ raw, routeOptions }: FastifyRequest) {
  if (!isUpgrade(raw) || routeOptions.config.hasSockets) return undefined
  return new ApiError('NOT_FOUND', 'This address is not for WebSockets')
}

const isUpgrade = (raw: IncomingMessage) => raw instanceof ServedRequest && raw.upgrade === true

const requestId = (headers: IncomingHttpHeaders) => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : randomUUID()
}
