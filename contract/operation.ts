import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'

/**
 * Who may call: anybody, the operator (`X-Admin-Key`), a customer's backend (`X-API-Key`), one of its users
 * (`Authorization: Bearer`), or either of the last two.
 */
export type Auth = 'none' | 'admin' | 'key' | 'user' | 'userOrKey'

/** The window a call is counted in: token generation by IP, sends by user, all else by app; `none` is not counted. */
export type Limit = 'tokens' | 'messages' | 'requests' | 'none'

/** One endpoint. The server's routes, `openapi.json`, the tRPC router and the client's methods are all read from these records. */
export type Operation<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodObject = z.ZodObject,
  A extends Auth = Auth,
  M extends Method = Method,
> = {
  method: M
  /** Parameters in braces are fields of `input`; the other fields are the query (GET, DELETE) or the body. */
  path: `/${string}`
  auth: A
  /** Default `requests`. */
  limit?: Limit
  /** The status of success, default 200. */
  status?: 200 | 201
  /** Size of the largest body taken, in bytes; default `limits.bodyBytes`. */
  bodyLimit?: number
  summary: string
  description: string
  input: I
  output: O
  /** Refusals beyond those that follow from `auth`, `limit` and `input`. */
  errors?: readonly ErrorCode[]
}
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Declares an endpoint, keeping the types of its parts. */
export const operation = <
  I extends z.ZodObject,
  O extends z.ZodObject,
  const A extends Auth,
  const M extends Method,
>(
  declared: Operation<I, O, A, M>,
) => declared

/** What a caller passes. */
export type Args<Op extends Operation> = z.input<Op['input']>
/** What the server's code receives: parsed, with defaults. */
export type Input<Op extends Operation> = z.output<Op['input']>
/** What is answered. */
export type Output<Op extends Operation> = z.output<Op['output']>

/** The names in braces of a path, in order. */
export const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
