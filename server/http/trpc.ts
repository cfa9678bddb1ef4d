import { type Envelope, type ErrorCode, errorStatus, TopicInput } from '@parley/contract'
import { initTRPC, TRPCError, tracked } from '@trpc/server'
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify'
import { getWSConnectionHandler } from '@trpc/server/adapters/ws'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'
import type { Call, Request } from './call.ts'
import { report, toApiError } from './errors.ts'
import { type Calls, toRequest } from './rest.ts'

type Context = {
  request: Request
  log: FastifyRequest['log']
  unreadable: ApiError | undefined
  wsToken?: string | undefined
}

/** The publications of a topic, for the holder of a wsToken. */
export type Listen = (
  wanted: TopicInput & { token: string; signal: AbortSignal | undefined },
) => AsyncIterable<{ offset: number; envelope: Envelope }>
type Options = {
  subscribe: Listen
  admitSocket: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

const t = initTRPC.context<Context>().create({
  isDev: false,
  errorFormatter: ({ shape, error }) => {
    const code = codeOf(error)
    const message = code === 'INTERNAL_ERROR' ? 'Something went wrong' : shape.message
    return {
      ...shape,
      message,
      data: { path: shape.data.path, code, httpStatus: errorStatus[code] },
    }
  },
})

/** Serves every operation as a tRPC procedure, batching included; the guards are those of REST. */
export function trpc(app: FastifyInstance, calls: Calls, { subscribe, admitSocket }: Options) {
  const router = t.router({
    events: t.router({ topic: topicOf(subscribe) }),
    ...Object.fromEntries(
      Object.entries(calls).map(([name, group]) => [
        name,
        t.router(
          Object.fromEntries(
            Object.entries(group).map(([name, { op, call }]) => [name, procedure(op.method, call)]),
          ),
        ),
      ]),
    ),
  })
  app.register(async (scope) => {
    const handle = getWSConnectionHandler({
      wss: scope.websocketServer,
      router,
      keepAlive: { enabled: true },
      createContext: ({ req, info }) => ({
        request: { credentials: {}, ip: req.socket.remoteAddress ?? '', setHeader: () => {} },
        log: app.log,
        unreadable: undefined,
        wsToken: info.connectionParams?.token,
      }),
    })
    scope.get('/trpc', { websocket: true, preHandler: admitSocket }, (socket, request) =>
      handle(socket, request.raw),
    )
  })
  app.route<{ Params: { path: string } }>({
    method: ['GET', 'POST'],
    url: '/trpc/:path',
    handler: (request, reply) => {
      const unreadable = request.body instanceof ApiError ? request.body : undefined
      if (unreadable) request.body = {}
      // tRPC reads addresses and types by rules of its own: what matters here has been looked at.
      request.headers.host = 'trpc'
      if (request.method === 'POST') request.headers['content-type'] = 'application/json'
      const createContext = () => ({
        request: toRequest(request, reply),
        log: request.log,
        unreadable,
      })
      // The adapter would set a Vary of its own in place of ours.
      const responseMeta = () => ({ headers: { vary: 'Origin, trpc-accept, accept' } })
      return fastifyRequestHandler({
        req: request,
        res: reply,
        path: request.params.path,
        router,
        createContext,
        responseMeta,
      })
    },
  })
}

/** Over HTTP there is no wsToken, and so nothing to hear. */
const topicOf = (subscribe: Listen) =>
  t.procedure.input(TopicInput).subscription(async function* ({ ctx, input, signal }) {
    try {
      for await (const { offset, envelope } of subscribe({
        ...input,
        token: ctx.wsToken ?? '',
        signal,
      }))
        yield tracked(String(offset), envelope)
    } catch (error) {
      throw toTrpcError(ctx.log, error)
    }
  })

const procedure = (method: string, call: Call) => {
  const passed = t.procedure.input((input: unknown) => input)
  const run = async ({
    ctx: { request, log, unreadable },
    input,
  }: {
    ctx: Context
    input: unknown
  }) => {
    try {
      return await call(request, unreadable ?? input ?? {})
    } catch (error) {
      const { retryAfterSeconds } = toApiError(error)
      if (retryAfterSeconds !== undefined)
        request.setHeader('Retry-After', String(retryAfterSeconds))
      throw toTrpcError(log, error)
    }
  }
  return method === 'GET' ? passed.query(run) : passed.mutation(run)
}

function toTrpcError(log: FastifyRequest['log'], error: unknown) {
  const failure = toApiError(error)
  report(log, { failure, error })
  return new TRPCError({
    code: trpcCodes[errorStatus[failure.code]],
    message: failure.message,
    cause: failure,
  })
}

const trpcCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const

/** Our code for an error: of an operation, or of tRPC itself (unknown procedure, wrong method, unreadable input). */
const codeOf = ({ cause, code }: TRPCError): ErrorCode => {
  if (cause instanceof ApiError) return cause.code
  if (code === 'NOT_FOUND' || code === 'METHOD_NOT_SUPPORTED') return 'NOT_FOUND'
  return code === 'INTERNAL_SERVER_ERROR' ? 'INTERNAL_ERROR' : 'VALIDATION_ERROR'
}
