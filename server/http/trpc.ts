import type { IncomingMessage } from 'node:http'
import {
  type Envelope,
  type ErrorCode,
  errorStatus,
  grouped,
  limits,
  type Operation,
  TopicInput,
} from '@parley/contract'
import { initTRPC, type TRPCDefaultErrorShape, TRPCError, tracked } from '@trpc/server'
import { incomingMessageToRequest } from '@trpc/server/adapters/node-http'
import { getWSConnectionHandler } from '@trpc/server/adapters/ws'
import { resolveResponse } from '@trpc/server/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { ApiError } from '../core/errors.ts'
import { asText } from '../core/json-text.ts'
import { jsonOf } from './bodies.ts'
import type { Call, CallRequest } from './call.ts'
import { logError, toApiError } from './errors.ts'
import { type Calls, toCallRequest } from './rest.ts'
import { type AnswerBudget, takeFromBudget, withAnswers } from './trpc-answers.ts'

type CallContext = {
  request: CallRequest
  log: FastifyRequest['log']
  /** The input of a call, given what tRPC takes for it; or why the body cannot be read. */
  inputOf: (given: unknown) => unknown
  /** How many bytes of answers a batch may still have. */
  budget: AnswerBudget | undefined
  /** Keeps an answer as JSON, and returns what tRPC gets for it. */
  keep: (answer: string) => unknown
}

/**
 * A socket that holds its client to the limits of frames, and closes if the client does not read.
 */
type TopicSocket = Pick<WebSocket, 'readyState' | 'send' | 'close' | 'terminate'> & {
  /** Verifies the wsToken of the client. */
  authenticate: (token: string | undefined) => Promise<void>
  /** The events of a topic, for the holder of the wsToken. */
  subscribe: (
    options: TopicInput & { signal: AbortSignal | undefined },
  ) => AsyncIterable<{ offset: number; envelope: Envelope }>
}
type SocketContext = { socket: TopicSocket; log: FastifyRequest['log'] }
type TrpcOptions = {
  wrapSocket: (socket: WebSocket) => TopicSocket
  guardSocket: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  /** How often a socket is pinged, and how soon it must answer. */
  timings: { pingMs: number; pongMs: number }
}

const optionsFor = (maxBatchSize: number) => ({
  isDev: false,
  errorFormatter: ({ shape, error }: { shape: TRPCDefaultErrorShape; error: TRPCError }) => {
    const code = codeOf(error)
    return {
      ...shape,
      message: messageOf(error, maxBatchSize),
      data: { path: shape.data.path, code, httpStatus: errorStatus[code] },
    }
  },
})
/** Calls are served over HTTP, subscriptions over WebSockets. */
const calling = initTRPC.context<CallContext>().create(optionsFor(limits.callsPerBatch))
const subscribing = initTRPC
  .context<SocketContext>()
  .create(optionsFor(limits.realtime.topicsPerSocket))

/** Serves every operation as a tRPC procedure, with batching and the same checks as over REST. */
export function serveTrpc(
  app: FastifyInstance,
  calls: Calls,
  { wrapSocket, guardSocket, timings: { pingMs, pongMs } }: TrpcOptions,
) {
  const router = createRouter(calls)
  // Node.js loads these at the first use, which would keep everybody waiting for 25 ms.
  new Headers()
  app.register(async (scope) => {
    const handle = getWSConnectionHandler({
      wss: scope.websocketServer,
      router: subscriptions,
      keepAlive: { enabled: true, pingMs, pongWaitMs: pongMs },
      maxBatchSize: limits.realtime.topicsPerSocket,
      createContext: async ({ res, info }) => {
        const socket = res as unknown as TopicSocket // it was given to `handle`
        await socket.authenticate(info.connectionParams?.token)
        return { socket, log: app.log }
      },
    })
    const options = { config: { hasSockets: true }, preHandler: guardSocket }
    scope.get('/trpc', { ...options, websocket: true }, (socket, request) => {
      // The adapter uses no more of a socket than this, nor of a request, which it retains.
      handle(wrapSocket(socket) as unknown as WebSocket, openingOf(request) as IncomingMessage)
    })
  })
  app.route<{ Params: { path: string } }>({
    method: ['GET', 'POST'],
    url: '/trpc/:path',
    handler: async (request, reply) => {
      const inputOf = inputsIn(request)
      const answers: Buffer[] = []
      // Our rules for host and content type were applied already; these values satisfy tRPC's own.
      request.headers.host = 'trpc'
      // A request line may contain a whole URL, and tRPC fails at one with a password.
      request.raw.url = request.url.replace(/^[a-z]+:\/\/[^/?]*/i, '')
      if (request.method === 'POST') request.headers['content-type'] = 'application/json'
      const raw = Object.assign(request.raw, { body: PLACEHOLDERS })
      const response = await resolveResponse({
        req: incomingMessageToRequest(raw, reply.raw, { maxBodySize: null }),
        error: null,
        path: request.params.path,
        router,
        maxBatchSize: limits.callsPerBatch,
        createContext: async ({ info }) => ({
          request: toCallRequest(request, reply),
          log: request.log,
          inputOf,
          budget: info.calls.length > 1 ? { bytes: limits.batchAnswerBytes } : undefined,
          // If answers are sent as lines, tRPC writes each by itself.
          keep: (answer) =>
            info.accept === 'application/jsonl'
              ? JSON.parse(answer)
              : answers.push(Buffer.from(answer)) - 1,
        }),
        // Without this, tRPC would replace our Vary header with its own.
        responseMeta: () => ({ headers: { vary: 'Origin, trpc-accept, accept' } }),
      })
      // Whole, also as lines: a stream that is not read does not end, and is not counted as unread.
      const { 'transfer-encoding': _, ...headers } = Object.fromEntries(response.headers)
      // tRPC leaves the type out when it refuses a request itself.
      reply.code(response.status).headers({ ...headers, 'content-type': 'application/json' })
      return reply.send(withAnswers(await response.text(), answers))
    },
  })
}

/** The request of a socket, as tRPC needs it: whether a token follows, and a valid host. */
const openingOf = ({ query }: FastifyRequest) => {
  const { connectionParams } = query as { connectionParams?: unknown } // Fastify parses it
  return { url: connectionParams === '1' ? '/?connectionParams=1' : '/', headers: { host: 'trpc' } }
}

/** The body for tRPC: each call of a batch takes its part of it, a single call all of it. */
const PLACEHOLDERS = JSON.stringify({
  ...Array.from({ length: limits.callsPerBatch }, (_, n) => n),
})

/** Reads inputs from the body of a request, which is parsed when the first of them is asked for. */
function inputsIn({ body, method, routeOptions }: FastifyRequest) {
  let parsed: { json: unknown } | undefined
  return (given: unknown) => {
    parsed ??= { json: jsonOf({ body, routeOptions }) }
    const { json } = parsed
    if (json instanceof ApiError) return json
    // That of a query is in its URL.
    if (method === 'GET') return given
    return typeof given === 'number' ? Object(json)[given] : json
  }
}

function createRouter(calls: Calls) {
  const routers: Record<string, ReturnType<typeof calling.router>> = {}
  for (const [noun, verbs] of Object.entries(calls)) {
    const procedures = Object.entries(verbs).map(([verb, { op, call }]) => [
      verb,
      createProcedure(op, call),
    ])
    routers[noun] = calling.router(Object.fromEntries(procedures))
  }
  return calling.router(routers)
}

const topic = subscribing.procedure.input(TopicInput).subscription(async function* ({
  ctx,
  input,
  signal,
}) {
  try {
    const publications = ctx.socket.subscribe({ ...input, signal })
    for await (const { offset, envelope } of publications) yield tracked(String(offset), envelope)
  } catch (error) {
    throw toTrpcError(ctx.log, error)
  }
})
const subscriptions = subscribing.router({ events: subscribing.router({ topic }) })

function createProcedure(op: Operation, call: Call) {
  // Parsed later, by the call itself.
  const procedure = calling.procedure.input((input: unknown) => input)
  const run = async ({ ctx, input }: { ctx: CallContext; input: unknown }) => {
    const { request, log, inputOf, budget, keep } = ctx
    try {
      const answer = asText(await call(request, () => inputOf(input) ?? {}))
      if (budget && op.idempotent) takeFromBudget(budget, answer)
      return keep(answer)
    } catch (error) {
      const { retryAfterSeconds } = toApiError(error)
      if (retryAfterSeconds !== undefined)
        request.setHeader('Retry-After', String(retryAfterSeconds))
      throw toTrpcError(log, error)
    }
  }
  return op.method === 'GET' ? procedure.query(run) : procedure.mutation(run)
}

function toTrpcError(log: FastifyRequest['log'], error: unknown) {
  const apiError = toApiError(error)
  logError(log, error, apiError)
  const { code, message } = apiError
  return new TRPCError({ code: trpcCodes[errorStatus[code]], message, cause: apiError })
}

const trpcCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const

/** Our message for a tRPC error: its own do not say what was expected. */
function messageOf(error: TRPCError, maxBatchSize: number) {
  if (codeOf(error) === 'INTERNAL_ERROR') return 'Something went wrong'
  if (error.cause instanceof SyntaxError) return 'input: expected JSON'
  if (error.message === 'Batch call exceeds maximum size')
    return `batch: expected at most ${grouped(maxBatchSize)} calls`
  return error.message
}

/** Our code for an error of an operation, or of tRPC itself (like an unknown procedure). */
const codeOf = ({ cause, code }: TRPCError): ErrorCode => {
  if (cause instanceof ApiError) return cause.code
  if (code === 'NOT_FOUND' || code === 'METHOD_NOT_SUPPORTED') return 'NOT_FOUND'
  return code === 'INTERNAL_SERVER_ERROR' ? 'INTERNAL_ERROR' : 'VALIDATION_ERROR'
}
