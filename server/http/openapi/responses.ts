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
type Answers = NonNullable<Components['responses']>
type Content = NonNullable<Exclude<Answers[string], { $ref: string }>['content']>
export type Answer = Answers[string]

/** The headers of answers, as components. */
export const headers: Components['headers'] = {
  'X-Request-Id': header(
    'string',
    "Names the request in the server's log; that of the request, if it has one.",
    '5f0c9b1e-7a52-4cc1-8f0e-3d2f5b6a7c81',
  ),
  'RateLimit-Limit': header(
    'integer',
    `Calls allowed in a window of ${limits.rateWindowSeconds} seconds.`,
    limits.rates.requests,
  ),
  'RateLimit-Remaining': header('integer', 'Calls left in this window.', limits.rates.requests - 1),
  'RateLimit-Reset': header('integer', 'Seconds until the window ends.', limits.rateWindowSeconds),
  'Retry-After': header('integer', 'Seconds after which to try again.', 12),
}
function header(type: 'integer' | 'string', description: string, example: unknown) {
  return { description, schema: { type, examples: [example] } }
}

export const successAnswer = (op: Operation, content: Content): Answer => ({
  description: STATUS_CODES[op.status ?? 200] ?? '',
  headers: headersOf(op),
  content,
})

/** The refusals of an operation by status. Those of counted operations are shared components. */
export function errorAnswers(op: Operation): Record<string, Answer> {
  const answers = Object.entries(refusalsByStatus(op))
  return Object.fromEntries(
    answers.map(([status, codes]) => [
      status,
      isCounted(op) ? { $ref: `#/components/responses/${nameOf(codes)}` } : errorAnswer(op, codes),
    ]),
  )
}

export const sharedAnswers = (operations: Operation[]): Answers =>
  Object.fromEntries(
    operations
      .filter(isCounted)
      .flatMap((op) =>
        Object.values(refusalsByStatus(op)).map((codes) => [nameOf(codes), errorAnswer(op, codes)]),
      ),
  )

function errorAnswer(op: Operation, codes: ErrorCode[]): Answer {
  const example = (code: ErrorCode) => ({
    summary: code,
    value: { error: { message: errorDescriptions[code], code } } satisfies ErrorBody,
  })
  const isRetryable = codes.some((code) => code === 'RATE_LIMITED' || code === 'UNAVAILABLE')
  return {
    description: codes.map((code) => `\`${code}\`: ${errorDescriptions[code]}`).join('\n\n'),
    headers: { ...headersOf(op), ...(isRetryable && refs('Retry-After')) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, example(code)])),
      },
    },
  }
}

function refusalsByStatus(op: Operation) {
  const byStatus: Record<number, ErrorCode[]> = {}
  for (const code of new Set(refusals(op)))
    byStatus[errorStatus[code]] = [...(byStatus[errorStatus[code]] ?? []), code]
  return byStatus
}

/** What an operation can answer besides success: what it says itself, and what follows from its credentials, limit and input. */
function* refusals({
  auth,
  limit,
  path,
  method,
  input,
  errors = [],
}: Operation): Iterable<ErrorCode> {
  const fields = Object.keys(input.shape)
  const inPath = pathParameters(path)
  // A malformed id in the path is not found rather than invalid.
  if (inPath.some((field) => field.endsWith('Id'))) yield 'NOT_FOUND'
  if (fields.some((field) => !inPath.includes(field) || !field.endsWith('Id')))
    yield 'VALIDATION_ERROR'
  if (method !== 'GET' && method !== 'DELETE' && fields.some((field) => !inPath.includes(field)))
    yield 'PAYLOAD_TOO_LARGE'
  yield* authRefusals[auth]
  yield* errors
  if (limit !== 'none') yield 'RATE_LIMITED'
  yield 'INTERNAL_ERROR'
  if (auth !== 'none') yield 'UNAVAILABLE'
}

const authRefusals: Record<Auth, readonly ErrorCode[]> = {
  none: [],
  admin: ['UNAUTHORIZED'],
  key: ['UNAUTHORIZED'],
  user: ['UNAUTHORIZED', 'INVALID_TOKEN'],
  userOrKey: ['UNAUTHORIZED', 'INVALID_TOKEN'],
}

const nameOf = (codes: ErrorCode[]) => codes.join('_OR_')
const isCounted = ({ limit }: Operation) => limit !== 'none'
const headersOf = (op: Operation) =>
  refs(
    'X-Request-Id',
    ...(isCounted(op) ? ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] : []),
  )
const refs = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
