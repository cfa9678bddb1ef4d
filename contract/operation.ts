import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

/**
 * The callers: anyone, the operator (`X-Admin-Key`), a customer's backend (`X-API-Key`), one of
 * its users, or either of the last two. A user calls with `Authorization: Bearer`, or the backend
 * as that user, with `X-API-Key` and `X-User-Id`.
 */
export type Auth = 'none' | 'admin' | 'key' | 'user' | 'userOrKey'

/**
 * Which rate limit a call counts against: `tokens` by API key and IP address, `messages` by user,
 * `requests` by user or by API key, `appends` by user, also where the backend acts as that user.
 * `none` is not limited.
 */
export type Limit = 'tokens' | 'messages' | 'requests' | 'appends' | 'none'

/** The uses that an API key may have. */
export type KeyScope = 'full' | 'read' | 'mint'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Declaration<I extends z.ZodObject, O extends z.ZodObject, A extends Auth, M extends Method> = {
  method: M
  /**
   * Parameters in braces are fields of `input`. The other fields are in the query string (GET,
   * DELETE) or in the body.
   */
  path: `/${string}`
  auth: A
  /** Default: `requests`. */
  limit?: Limit
  /**
   * The scope that an API key needs for the call. Default: `read` for GET, otherwise `full`. `full`
   * includes the others.
   */
  scope?: KeyScope
  /** The status of a success. Default: 200. */
  status?: 200 | 201
  /**
   * The media type of a body that is read while it arrives, over REST only. Default: the body is
   * JSON, and part of the input.
   */
  streams?: 'application/x-ndjson'
  /** Size of the largest accepted body, in bytes. Default: `limits.bodyBytes`. */
  bodyLimit?: number
  summary: string
  description: string
  input: I
  output: O
  /**
   * Errors beyond those that follow from `auth`, `limit` and `input`. Default: NOT_FOUND if the
   * path has parameters, and then FORBIDDEN if users may call it.
   */
  errors?: readonly ErrorCode[]
  /**
   * Whether two calls have the effect and the result of one, so that a client may retry without
   * knowing whether the first was carried out. Default: only GET. Any call with a `clientId` may
   * be retried too.
   */
  idempotent?: boolean
}

/**
 * One endpoint. The server's routes, `openapi.json`, the tRPC router and the client's methods are
 * all derived from these records.
 */
export type Operation<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodObject = z.ZodObject,
  A extends Auth = Auth,
  M extends Method = Method,
> = Declaration<I, O, A, M> & {
  errors: readonly ErrorCode[]
  idempotent: boolean
  scope: KeyScope
}

/** Declares an endpoint: fills in the defaults and keeps the types of the parts. */
export const operation = <
  I extends z.ZodObject,
  O extends z.ZodObject,
  const A extends Auth,
  const M extends Method,
>(
  declared: Declaration<I, O, A, M>,
): Operation<I, O, A, M> => ({
  errors: defaultErrors(declared),
  idempotent: declared.method === 'GET',
  scope: declared.method === 'GET' ? 'read' : 'full',
  ...declared,
})

/** What a path names may not exist. Keys are refused only what `errors` says. */
function defaultErrors({ path, auth }: { path: string; auth: Auth }): ErrorCode[] {
  if (pathParameters(path).length === 0) return []
  return auth === 'user' || auth === 'userOrKey' ? ['NOT_FOUND', 'FORBIDDEN'] : ['NOT_FOUND']
}

/** The arguments that a caller passes. */
export type Args<Op extends Operation> = z.input<Op['input']>
/** The input that the server's code receives: parsed, with defaults. */
export type Input<Op extends Operation> = z.output<Op['input']>
/** The result of a successful call. */
export type Output<Op extends Operation> = z.output<Op['output']>

/** The names in braces of a path, in order. */
export const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
