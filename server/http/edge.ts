import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { limits } from '@parley/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { fail } from '../failure.ts'
import { corsHeaders } from './cors.ts'
import { report, statusOfFailure, toErrorBody, toFailure } from './errors.ts'

export type EdgeOptions = { allowedOrigins: readonly string[]; trustProxy: string | ((address: string, hop: number) => boolean) | false; logLevel: string }

/** A Fastify that answers in our form whatever happens to a request before it reaches an operation, or after. */
export function createEdge({ allowedOrigins, trustProxy, logLevel }: EdgeOptions): FastifyInstance {
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const failure = toFailure(error)
    report(request.log, { failure, error })
    if (failure.retryAfterSeconds !== undefined) reply.header('Retry-After', String(failure.retryAfterSeconds))
    return reply.code(statusOfFailure(failure)).send(toErrorBody(failure))
  }
  const greet = (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers({ 'X-Request-Id': request.id, ...corsHeaders(allowedOrigins, request.headers) })
    if (isClosing) reply.header('Connection', 'close')
  }
  let isClosing = false

  const app = Fastify({
    logger: { level: logLevel, base: null },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: ({ headers }: IncomingMessage) => requestId(headers),
    bodyLimit: limits.bodyBytes,
    trustProxy,
    routerOptions: { maxParamLength: 5_000 },
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, request, reply) => {
      greet(request, reply)
      return answer(error, request, reply)
    },
  })
  app.addHook('preClose', async () => void (isClosing = true))
  app.addHook('onRequest', async (request, reply) => {
    greet(request, reply)
    if (hasNoBody(request.headers)) request.headers['content-type'] = undefined
    if (isPreflight(request)) return reply.code(204).send()
  })
  app.addHook('onResponse', async (request, reply) => {
    // The route, not the address: addresses may carry secrets.
    const { method, routeOptions } = request
    request.log.info({ method, route: routeOptions.url ?? null, status: reply.statusCode, milliseconds: Math.round(reply.elapsedTime) }, 'request')
  })
  readBodies(app)
  app.setNotFoundHandler(() => fail('NOT_FOUND', 'No such route'))
  app.setErrorHandler(answer)
  return app
}

const requestId = (headers: IncomingHttpHeaders) => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : randomUUID()
}

const isPreflight = ({ method, headers }: FastifyRequest) => method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined

/** An empty body is no body, with any method and content type. */
const hasNoBody = (headers: IncomingHttpHeaders) => headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

/** JSON objects in UTF-8, and nothing else. */
function readBodies(app: FastifyInstance) {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    try {
      const text = utf8.decode(body as Buffer) // parsed as a buffer, says the option
      parseJson(request, text, (error, value) => done(error ? badBody(error.message) : isObject(value) ? null : badBody('expected a JSON object'), value))
    } catch {
      done(badBody('expected UTF-8'))
    }
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => (body.length === 0 ? done(null, undefined) : done(badBody('expected Content-Type: application/json'))))
}
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const badBody = (problem: string) => Object.assign(new Error(`body: ${problem}`), { statusCode: 400 })

/** What is not HTTP is answered on the bare socket. */
function answerMalformed(error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const body = JSON.stringify(toErrorBody(toFailure(Object.assign(new Error('malformed HTTP request'), { statusCode: 400 }))))
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
