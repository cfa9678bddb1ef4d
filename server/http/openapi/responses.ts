import { STATUS_CODES } from 'node:http'
import {
  type Auth,
  type ErrorBody,
  type ErrorCode,
  errorDescriptions,
  errorStatus,
  limits,
  type Operation,
  pathParameters,
} from '@parley/contract'
import type { OpenAPIObject } from 'trpc-to-openapi'

type Components = NonNullable<OpenAPIObject['components']>
type Responses = NonNullable<Components['responses']>
export type Response = Responses[string]
type ResponseContent = NonNullable<Exclude<Response, { $ref: string }>['content']>

/** The headers of responses, as components. */
export const headers: Components['headers'] = {
  'X-Request-Id': header(
    'string',
    "Identifies the request in the server's log: the request's own header if it has one.",
    '5f0c9b1e-7a52-4cc1-8f0e-3d2f5b6a7c81',
  ),
  'RateLimit-Limit': header(
    'integer',
    `The calls that each user and each API key may make in ${limits.rateWindowSeconds} seconds, ` +
      "or the app's limit if fewer calls of that are left.",
    limits.rates.requests,
  ),
  'RateLimit-Remaining': header('integer', 'Calls left in this window.', limits.rates.requests - 1),
  'RateLimit-Reset': header('integer', 'Seconds until the window ends.', limits.rateWindowSeconds),
  'Retry-After': header('integer', 'Seconds to wait before trying again.', 12),
}
function header(type: 'integer' | 'string', description: string, example: unknown) {
  return {
    description,
    schema: { type, ...(type === 'integer' && { format: 'int32' as const }), examples: [example] },
  }
}

export const successResponse = (op: Operation, content: ResponseContent): Response => ({
  description: STATUS_CODES[op.status ?? 200] ?? '',
  headers: headersOf(op),
  content,
})

/** The errors of an operation by status. Those of rate-limited operations are shared components. */
export function errorAnswers(op: Operation): Record<string, Response> {
  const byStatus = Object.entries(errorsByStatus(op))
  return Object.fromEntries(
    byStatus.map(([status, codes]) => [
      status,
      isRateLimited(op)
        ? { $ref: `#/components/responses/${nameOf(codes)}` }
        : errorResponse(op, codes),
    ]),
  )
}

/** The error responses that rate-limited operations share, by name. */
export function sharedResponses(operations: Operation[]): Responses {
  const named = operations
    .filter(isRateLimited)
    .flatMap((op) =>
      Object.values(errorsByStatus(op)).map((codes) => [nameOf(codes), errorResponse(op, codes)]),
    )
  return Object.fromEntries(named)
}

function errorResponse(op: Operation, codes: ErrorCode[]): Response {
  const example = (code: ErrorCode) => ({
    summary: code,
    value: { error: { message: errorDescriptions[code], code } } satisfies ErrorBody,
  })
  const isRetryable = codes.some((code) => code === 'RATE_LIMITED' || code === 'UNAVAILABLE')
  return {
    description: codes.map((code) => `\`${code}\`: ${errorDescriptions[code]}`).join('\n\n'),
    headers: { ...headersOf(op), ...(isRetryable && headerRefs('Retry-After')) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ApiError' },
        examples: Object.fromEntries(codes.map((code) => [code, example(code)])),
      },
    },
  }
}

function errorsByStatus(op: Operation) {
  const byStatus: Record<number, ErrorCode[]> = {}
  for (const code of new Set(errorsOf(op))) {
    const status = errorStatus[code]
    byStatus[status] = [...(byStatus[status] ?? []), code]
  }
  return byStatus
}

/** Every error of an operation: its own, and those that follow from auth, limit and input. */
function* errorsOf({
  auth,
  limit,
  path,
  method,
  input,
  streams,
  errors,
}: Operation): Iterable<ErrorCode> {
  const fields = Object.keys(input.shape)
  const inPath = pathParameters(path)
  // A malformed id in the path is not found rather than invalid.
  const isPathId = (field: string) => inPath.includes(field) && field.endsWith('Id')
  const hasBody = method !== 'GET' && method !== 'DELETE'
  if (fields.some(isPathId)) yield 'NOT_FOUND'
  if (!fields.every(isPathId) || streams !== undefined) yield 'VALIDATION_ERROR'
  if (hasBody && fields.some((field) => !inPath.includes(field))) yield 'PAYLOAD_TOO_LARGE'
  yield* authErrors[auth]
  yield* errors
  if (limit !== 'none') yield 'RATE_LIMITED'
  yield 'INTERNAL_ERROR'
  if (auth !== 'none') yield 'UNAVAILABLE'
}

const authErrors: Record<Auth, readonly ErrorCode[]> = {
  none: [],
  admin: ['UNAUTHORIZED'],
  key: ['UNAUTHORIZED', 'FORBIDDEN', 'APP_DISABLED'],
  // A key acts for a user only where its scopes allow it.
  user: ['UNAUTHORIZED', 'INVALID_TOKEN', 'FORBIDDEN', 'APP_DISABLED'],
  userOrKey: ['UNAUTHORIZED', 'INVALID_TOKEN', 'FORBIDDEN', 'APP_DISABLED'],
}

const nameOf = (codes: ErrorCode[]) => codes.join('_OR_')
const isRateLimited = ({ limit }: Operation) => limit !== 'none'
const headersOf = (op: Operation) => ({
  ...headerRefs('X-Request-Id'),
  ...(isRateLimited(op) && headerRefs('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset')),
})
const headerRefs = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
