import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '@parley/contract'
import { isAllowedOrigin } from '../core/origins.ts'

/** The CORS headers of every response to the request's origin, including errors. */
export function corsHeaders(
  allowed: readonly string[],
  { origin }: IncomingHttpHeaders,
): Record<string, string> {
  const vary = { Vary: 'Origin' }
  if (origin === undefined || !isAllowedOrigin(allowed, origin)) return vary
  return {
    ...vary,
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE, PATCH, OPTIONS',
    'Access-Control-Allow-Headers': 'Content-Type, Authorization',
    'Access-Control-Max-Age': String(limits.preflightMaxAgeSeconds),
    'Access-Control-Expose-Headers':
      'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id',
  }
}

type Asked = { method: string; headers: IncomingHttpHeaders }
export const isPreflight = ({ method, headers }: Asked) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined
