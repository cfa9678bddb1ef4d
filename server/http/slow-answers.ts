import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { valueWithin } from '../core/with-timeout.ts'
import { logError, toApiError } from './errors.ts'

/** Callers give up on a silent server: Node's `fetch` after five minutes, a proxy earlier. */
export const HEARTBEAT_MS = 20_000

type Slow = { request: FastifyRequest; reply: FastifyReply; heartbeatMs: number }

/**
 * The output of a call that reads its body, for Fastify to send. If it takes long after the end of
 * the body, it is a stream: spaces, and then the output as JSON. What fails after the first space
 * is cut off, because the status was sent already.
 */
export async function soonOrStreamed(
  output: Promise<unknown>,
  { request, reply, heartbeatMs }: Slow,
) {
  const done = output.then((value) => ({ value }))
  // An error may come when nobody waits for it.
  done.catch(() => {})
  const isRead = new Promise((resolve) => request.raw.once('end', resolve))
  await Promise.race([done, isRead])
  const soon = () => valueWithin(heartbeatMs, done, () => undefined)
  const first = await soon()
  if (first) return first.value
  const parts = async function* (): AsyncGenerator<string, void> {
    try {
      for (;;) {
        yield ' '
        const ended = await soon()
        if (!ended) continue
        yield JSON.stringify(ended.value)
        return
      }
    } catch (error) {
      logError(request.log, error, toApiError(error))
      throw error
    }
  }
  reply.type('application/json; charset=utf-8').header('X-Accel-Buffering', 'no')
  return Readable.from(parts(), { objectMode: false })
}
