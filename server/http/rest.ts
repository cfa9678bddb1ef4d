import { Readable } from 'node:stream'
import { type Operation, pathParameters } from '@parley/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { copyOf } from '../core/copy-of.ts'
import { ApiError } from '../core/errors.ts'
import { isObject, JsonText } from '../core/json-text.ts'
import type { operations } from '../features/index.ts'
import type { Credentials } from './authenticate.ts'
import { jsonOf } from './bodies.ts'
import type { Call, CallRequest } from './call.ts'
import { Departure } from './departure.ts'
import { logError, toApiError } from './errors.ts'
import { createExportStreams, isStreamWanted } from './export-stream.ts'
import { factsOf } from './request-facts.ts'
import { HEARTBEAT_MS, soonOrStreamed } from './slow-answers.ts'
import { streamedBody, streamProblem } from './streamed-body.ts'

/** Every operation as a call, by noun and verb. */
export type Calls = {
  [Noun in keyof typeof operations]: Record<string, { op: Operation; call: Call }>
}

type RestOptions = {
  /** Which operations to serve; all by default. */
  has?: (op: Operation) => boolean
  /** Finds the credentials; by default in the request's headers. */
  credentialsOf?: (request: FastifyRequest) => Credentials
  /** How long a call with a body that is read as it arrives may be silent after its end. */
  heartbeatMs?: number | undefined
}

/** Serves each operation as a route; path, query and body together are its input. */
export function serveRest(
  app: FastifyInstance,
  calls: Calls,
  { has = () => true, credentialsOf = credentialsIn, heartbeatMs = HEARTBEAT_MS }: RestOptions = {},
) {
  const streamExport = createExportStreams()
  const served = Object.values(calls).flatMap((verbs) => Object.values(verbs))
  for (const { op, call } of served.filter(({ op }) => has(op))) {
    const readInput =
      op.method === 'GET' || op.method === 'DELETE' ? queryReader(op) : bodyReader(op)
    app.route({
      method: op.method,
      url: op.path.replace(/\{(\w+)\}/g, ':$1'),
      ...(op.bodyLimit === undefined ? {} : { bodyLimit: op.bodyLimit }),
      ...(op.streams === undefined ? {} : { config: { streams: op.streams } }),
      handler: async (request, reply) => {
        const inputWith = (page?: object) => () => {
          const given = readInput(request)
          if (given instanceof ApiError) return given
          return { ...toObject(given), ...idsOf(request), ...page }
        }
        const callRequest = toCallRequest(request, reply, credentialsOf(request))
        const read = (page: object, isLater: boolean) =>
          call({ ...callRequest, isCounted: isLater }, inputWith(page))
        if (isStreamWanted(op, request)) {
          const { apiKey } = callRequest.credentials
          return streamExport({ request, reply, read, apiKey })
        }
        const running = call(callRequest, inputWith())
        const output = await (op.streams === undefined
          ? running
          : soonOrStreamed(running, { request, reply, heartbeatMs }))
        reply.code(op.status ?? 200)
        return output instanceof JsonText
          ? reply.type('application/json; charset=utf-8').send(output.text)
          : reply.send(output)
      },
    })
  }
}

const bodyReader =
  ({ streams }: Operation) =>
  (request: FastifyRequest) => {
    if (request.body instanceof Readable) return {}
    const body = jsonOf(request)
    return streams === undefined ? body : streamProblem(body, streams)
  }

export const toCallRequest = (
  request: FastifyRequest,
  reply: FastifyReply,
  credentials = credentialsIn(request),
): CallRequest => ({
  credentials,
  facts: Object.assign(factsOf(request.raw), { requestId: request.id }),
  setHeader: (name, value) => void reply.header(name, value),
  logFault: (error) => logError(request.log, error, toApiError(error)),
  gone: new Departure(reply.raw),
  ...(request.body instanceof Readable && { body: streamedBody(request, reply) }),
})

const credentialsIn = ({ headers, ip }: FastifyRequest): Credentials => ({
  authorization: headers.authorization,
  apiKey: single(headers['x-api-key']),
  adminKey: single(headers['x-admin-key']),
  userId: single(headers['x-user-id']),
  ip,
})
const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

/** The ids in the path. Events, which are kept, have some of them. */
const idsOf = ({ params }: FastifyRequest) =>
  Object.fromEntries(
    Object.entries(toObject(params)).map(([name, id]) => [name, copyOf(String(id))]),
  )

const toObject = (value: unknown) => (isObject(value) ? value : {})

/**
 * Reads query strings as the types that the operation expects: whole numbers and booleans, in their
 * plain form only, and lists joined by commas. Any other value stays a string, for the schema to
 * refuse.
 */
function queryReader({ path, input }: Operation) {
  const inPath = new Set(pathParameters(path))
  const fields = Object.entries(input.shape).filter(([name]) => !inPath.has(name))
  const types = new Map(fields.map(([name, schema]) => [name, innermost(schema)]))
  return ({ query }: FastifyRequest) => {
    const values: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(toObject(query))) {
      const type = types.get(name)
      if (!type) continue
      values[name] = typeof value === 'string' ? fromQuery(type, value) : value
    }
    return values
  }
}

const fromQuery = (type: z.core.$ZodType, value: string) => {
  if (type instanceof z.ZodNumber && /^-?\d+$/.test(value)) return Number(value)
  if (type instanceof z.ZodBoolean && (value === 'true' || value === 'false'))
    return value === 'true'
  return type instanceof z.ZodArray ? value.split(',') : value
}

const innermost = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodNullable
    ? innermost(schema.unwrap())
    : schema
