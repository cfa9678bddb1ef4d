import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media type of a body that the operation reads as it arrives. */
    streams?: string | undefined
    /** Whether the route's answers continue until one side closes the connection. */
    isEndless?: boolean | undefined
    /** Whether the route serves WebSockets. */
    hasSockets?: boolean | undefined
  }
}

const beingRead = new WeakSet<IncomingMessage>()

/** Whether an operation reads the body, and sets its own time-outs for it. */
export const isStreamed = (request: IncomingMessage) => beingRead.has(request)

/** The body of a request as it arrives. Fails if the connection ends before it. */
export async function* streamedBody(
  { raw }: FastifyRequest,
  reply: FastifyReply,
): AsyncGenerator<Uint8Array> {
  beingRead.add(raw)
  // Unless the body was read to its end, the next request on this connection cannot be read.
  reply.raw.shouldKeepAlive = false
  // Whoever stops reading leaves the request as it is: destroyed, it would have no socket, which
  // its log line and hooks need.
  const chunks = raw.iterator({ destroyOnReturn: false })
  try {
    for await (const chunk of chunks) yield chunk
  } catch {
    throw new ApiError('VALIDATION_ERROR', 'body: the connection closed before it was complete')
  }
}

/** The error for a body that was parsed although one to be streamed is expected. */
export function streamProblem(body: unknown, type: string) {
  if (body instanceof ApiError) return body
  const isEmpty = typeof body !== 'object' || body === null || Object.keys(body).length === 0
  if (isEmpty) return undefined
  return new ApiError('VALIDATION_ERROR', `body: expected Content-Type: ${type}`)
}
