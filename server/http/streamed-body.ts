import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../core/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media type of bodies that are read while they arrive. */
    streams?: string | undefined
    /** Its answers go on until one side closes the connection. */
    isEndless?: boolean | undefined
    /** WebSockets are served there. */
    hasSockets?: boolean | undefined
  }
}

const beingRead = new WeakSet<IncomingMessage>()

/** Whether its operation reads the body, and judges itself how long that may take. */
export const isStreamed = (request: IncomingMessage) => beingRead.has(request)

/** The body of a request as it arrives. Fails if the connection ends before it. */
export async function* streamedBody(
  { raw }: FastifyRequest,
  reply: FastifyReply,
): AsyncGenerator<Uint8Array> {
  beingRead.add(raw)
  // Unless all of it is read, nobody reads what follows on this connection.
  reply.raw.shouldKeepAlive = false
  try {
    for await (const chunk of raw) yield chunk
  } catch {
    throw new ApiError('VALIDATION_ERROR', 'body: the connection ended before it')
  }
}

/** What is wrong with a body that was parsed, where one to be streamed is expected. */
export function streamProblem(body: unknown, type: string) {
  if (body instanceof ApiError) return body
  const isEmpty = typeof body !== 'object' || body === null || Object.keys(body).length === 0
  if (isEmpty) return undefined
  return new ApiError('VALIDATION_ERROR', `body: expected Content-Type: ${type}`)
}
