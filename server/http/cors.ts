import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '@parley/contract'

/** Origins of development servers that may call when ALLOWED_ORIGINS is unset (SPEC "Cross-origin access"). */
const DEVELOPMENT_PORTS = [3000, 3002, 4500, 5173, 5175, 5500, 5502, 6001, 6007]
export const developmentOrigins = DEVELOPMENT_PORTS.flatMap((port) => [`http://localhost:${port}`, `http://127.0.0.1:${port}`])

/** `*` allows every origin. */
export const isAllowedOrigin = (allowed: readonly string[], origin: string) => allowed.includes('*') || allowed.includes(origin)

/** The headers that every answer to this origin carries, errors included. */
export function corsHeaders(allowed: readonly string[], { origin }: IncomingHttpHeaders): Record<string, string> {
  const vary = { Vary: 'Origin' }
  if (origin === undefined || !isAllowedOrigin(allowed, origin)) return vary
  return {
    ...vary,
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE, PATCH, OPTIONS',
    'Access-Control-Allow-Headers': 'Content-Type, Authorization',
    'Access-Control-Max-Age': String(limits.preflightMaxAgeSeconds),
    'Access-Control-Expose-Headers': 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id',
  }
}
