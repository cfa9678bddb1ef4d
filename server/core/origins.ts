import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from './errors.ts'

/** A page of an origin that is not allowed opens a socket or a stream. */
export class ForeignOriginError extends ApiError {
  override readonly name = 'ForeignOriginError'

  constructor() {
    super('FORBIDDEN', 'This origin is not allowed')
  }
}

/** Whether pages of this origin may call; `*` allows every origin. */
export const isAllowedOrigin = (allowed: readonly string[], origin = '') =>
  allowed.includes('*') || allowed.includes(origin)

/**
 * Whether a request may open a socket: from pages of the server's own address and of allowed
 * origins, and from programs, which send no origin.
 */
export function mayConnect(
  { origin, host }: IncomingHttpHeaders,
  isAllowed: (origin: string) => boolean,
) {
  if (origin === undefined || isAllowed(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}
