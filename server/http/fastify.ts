import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '@parley/contract'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { ApiError, fail } from '../core/errors.ts'
import { answerClientError } from './client-errors.ts'
import { corsHeaders } from './cors.ts'
import { report, statusOf, toApiError, toErrorBody } from './errors.ts'

export type FastifyOptions = {
  allowedOrigins: readonly string[]
  trustProxy: string | ((address: string, hop: number) => boolean) | false
  logLevel: string
}

/** A Fastify that answers in our form whatever happens to a request before it reaches an operation, or after. */
export function createFastify({
  allowedOrigins,
  trustProxy,
  logLevel,
}: FastifyOptions): FastifyInstance {
  const greeting = (id: string, headers: IncomingHttpHeaders) => ({
    'X-Request-Id': id,
    ...corsHeaders(allowedOrigins, headers),
  })
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const failure = toApiError(error)
    report(request.log, { failure, error })
    if (failure.retryAfterSeconds !== undefined)
      reply.header('Retry-After', String(failure.retryAfterSeconds))
    return reply.code(statusOf(failure)).send(toErrorBody(failure))
  }

  const app = Fastify({
    logger: { level: logLevel, base: null },
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
    genReqId: ({ headers }: IncomingMessage) => requestId(headers),
    bodyLimit: limits.bodyBytes,
    trustProxy,
    // Longer than Node lets a path be: whether an id is too long is for its operation to say.
    routerOptions: { maxParamLength: 100_000 },
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Node would answer in its own form.
    http: { requireHostHeader: false },
    frameworkErrors: (_, request, reply) => {
      reply.headers(greeting(request.id, request.headers))
      return answer(
        new ApiError('VALIDATION_ERROR', 'path: expected valid percent-encoding'),
        request,
        reply,
      )
    },
    clientErrorHandler: () => {},
  })
  answerClientError(app.server, (headers) => greeting(randomUUID(), headers))
  closeConnections(app)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(greeting(request.id, request.headers))
    if (isPreflight(request)) return reply.code(204).send()
    if (request.is404) return fail('NOT_FOUND', 'No such route')
  })
  app.addHook('onResponse', async (request, reply) => {
    // The route, not the address: addresses may carry secrets.
    const { method, routeOptions } = request
    request.log.info(
      {
        method,
        route: routeOptions.url ?? null,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime),
      },
      'request',
    )
  })
  readBodies(app)
  app.setErrorHandler(answer)
  return app
}

/** At the end every answer is its connection's last, and who waits for none is cut: to Node.js one that has yet to send is not idle. */
function closeConnections(app: FastifyInstance) {
  const unanswered = new Set<ServerResponse>()
  let isClosing = false
  const closeWhenAnswered = () => {
    for (const response of unanswered) response.shouldKeepAlive = false
    if (unanswered.size === 0) app.server.closeAllConnections()
  }
  app.server.prependListener('request', (_, response) => {
    unanswered.add(response)
    if (isClosing) response.shouldKeepAlive = false
    response.once('close', () => {
      unanswered.delete(response)
      if (isClosing) closeWhenAnswered()
    })
  })
  app.addHook('preClose', async () => {
    isClosing = true
    closeWhenAnswered()
  })
}

const requestId = (headers: IncomingHttpHeaders) => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : randomUUID()
}

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

/**
 * JSON objects in UTF-8, and nothing else; an empty body is no body, with any method and content type. A body that can
 * not be read becomes the Failure it is to be answered with: missing credentials come first.
 */
function readBodies(app: FastifyInstance) {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addHook('onRequest', async ({ headers }) => {
    const isJson = /^application\/json *(;|$)/i.test(headers['content-type'] ?? '')
    const isEmpty =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
    headers['content-type'] = isJson && !isEmpty ? 'application/json' : undefined
  })
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = decode(body as Buffer) // parsed as a buffer, says the option
    if (text === undefined) return done(null, badBody('expected UTF-8'))
    if (text === '') return done(null, undefined)
    parseJson(request, text, (error, value) =>
      done(
        null,
        error
          ? badBody(error.message)
          : isObject(value)
            ? value
            : badBody('expected a JSON object'),
      ),
    )
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) =>
    done(null, body.length === 0 ? undefined : badBody('expected Content-Type: application/json')),
  )
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const decode = (bytes: Buffer) => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const badBody = (problem: string) => new ApiError('VALIDATION_ERROR', `body: ${problem}`)
