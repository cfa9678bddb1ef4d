import { randomBytes, randomUUID } from 'node:crypto'

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * The id of the trace that a request belongs to (W3C Trace Context), or of a new one: a UUID
 * without its hyphens, because Node.js has those in stock, and random bytes cost a system call.
 */
export const traceOf = (traceparent: string | string[] | undefined) =>
  (traceparent === undefined ? undefined : TRACEPARENT.exec(String(traceparent))?.[1]) ??
  randomUUID().replaceAll('-', '')

/** The header by which another service continues a trace. */
export const traceparentOf = (trace: string) => `00-${trace}-${randomBytes(8).toString('hex')}-01`
