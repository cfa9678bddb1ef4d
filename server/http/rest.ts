import { type Operation, pathParameters } from '@parley/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError } from '../core/errors.ts'
import type { operations } from '../features/index.ts'
import type { Call, Request } from './call.ts'

/** Every operation as a call, by group and name. */
export type Calls = {
  [Group in keyof typeof operations]: Record<string, { op: Operation; call: Call }>
}

/** One Fastify route an operation; path, query and body make up its input. */
export function rest(app: FastifyInstance, calls: Calls) {
  for (const { op, call } of Object.values(calls).flatMap((group) => Object.values(group))) {
    const readInput =
      op.method === 'GET' || op.method === 'DELETE'
        ? queryReader(op)
        : ({ body }: FastifyRequest) => body
    app.route({
      method: op.method,
      url: op.path.replace(/\{(\w+)\}/g, ':$1'),
      ...(op.bodyLimit === undefined ? {} : { bodyLimit: op.bodyLimit }),
      handler: async (request, reply) => {
        const input = readInput(request)
        const output = await call(
          toRequest(request, reply),
          input instanceof ApiError ? input : { ...toObject(input), ...toObject(request.params) },
        )
        return reply.code(op.status ?? 200).send(output)
      },
    })
  }
}

export const toRequest = ({ headers, ip }: FastifyRequest, reply: FastifyReply): Request => ({
  credentials: {
    authorization: headers.authorization,
    apiKey: single(headers['x-api-key']),
    adminKey: single(headers['x-admin-key']),
  },
  ip,
  setHeader: (name, value) => void reply.header(name, value),
})
const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

const toObject = (value: unknown) => (typeof value === 'object' && value !== null ? value : {})

/**
 * Query strings as the values they spell: whole numbers and booleans where the operation wants such, and only in their
 * plain form. Anything else stays the string it is, for the schema to refuse.
 */
function queryReader({ path, input }: Operation) {
  const inPath = new Set(pathParameters(path))
  const fields = Object.entries(input.shape).filter(([name]) => !inPath.has(name))
  const kinds = new Map(fields.map(([name, schema]) => [name, innermost(schema)]))
  return ({ query }: FastifyRequest) =>
    Object.fromEntries(
      Object.entries(toObject(query)).flatMap(([name, value]) => {
        const kind = kinds.get(name)
        return kind ? [[name, typeof value === 'string' ? fromQuery(kind, value) : value]] : []
      }),
    )
}

const fromQuery = (kind: z.core.$ZodType, value: string) => {
  if (kind instanceof z.ZodNumber && /^-?\d{1,15}$/.test(value)) return Number(value)
  if (kind instanceof z.ZodBoolean && (value === 'true' || value === 'false'))
    return value === 'true'
  return value
}

const innermost = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodNullable
    ? innermost(schema.unwrap())
    : schema
