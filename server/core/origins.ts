import type { IncomingHttpHeaders } from 'node:http'

/** Whether pages of this origin may call; `*` allows every origin. */
export const isAllowedOrigin = (allowed: readonly string[], origin: string) =>
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
