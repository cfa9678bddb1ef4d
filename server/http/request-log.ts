import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { levels } from 'pino'
import type { Metrics } from '../core/metrics.ts'
import { factsOf } from './request-facts.ts'

/** The length of a line with ids as long as those of most applications. */
const TYPICAL_BYTES = 400
/** The length of the parts that all lines have, and of the names of fields. */
const COMMON_BYTES = 110
/** A call that takes longer is always logged. */
const SLOW_MS = 1_000
/** Asked every second or so, by every proxy. */
const PROBES = new Set(['/health', '/health/live'])

type LogOptions = {
  /** The share of requests that succeeded in time and are logged. */
  sample: number
  metrics: Pick<Metrics, 'responses'>
}

/**
 * Logs each request in one line, once it was answered or failed. Of those that succeeded in time
 * only a share is logged; all others are, and so is every request with an entry in the audit log.
 * The server draws the share: if it followed from the trace id, which callers choose, they could
 * hide from the log or flood it.
 */
export function logRequests(app: FastifyInstance, { sample, metrics }: LogOptions) {
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    const bytesBefore = socket.bytesWritten
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished || hasOwnLine(request, reply)) return
      const status = reply.raw.headersSent ? reply.statusCode : undefined
      const bytes = socket.bytesWritten - bytesBefore
      request.log.info({ ...lineOf(request, reply), status, bytes }, 'request aborted')
    })
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    metrics.responses.inc({ status: reply.statusCode })
    if (reply.raw.writableFinished) logAnswer(request, reply, sample)
    done()
  })
}

/** Sockets, and streams in their place, are logged when they end. */
const hasOwnLine = ({ routeOptions: { config } }: FastifyRequest, { statusCode }: FastifyReply) =>
  config.hasSockets || (config.isEndless && statusCode === 200)

function logAnswer(request: FastifyRequest, reply: FastifyReply, sample: number) {
  if (request.routeOptions.config.isEndless && reply.statusCode === 200) return
  const isProbe = PROBES.has(request.routeOptions.url ?? '')
  const level = isProbe ? 'debug' : 'info'
  if (!isWritten(request, level)) return
  const isSampled = !isProbe && !isNotable(request, reply)
  // Most requests are not logged, so this comes before the line is built.
  if (isSampled && Math.random() >= sample) return
  const line = lineOf(request, reply)
  if (isSampled && sample < 1 && !isDrawn({ ...line, id: request.id })) return
  request.log[level](line, 'request completed')
}

/** Whether the log has lines of a level. Most have none of probes, so none is built. */
const isWritten = ({ log }: FastifyRequest, level: 'debug' | 'info') =>
  (levels.values[level] ?? 0) >= (levels.values[log.level] ?? 0)

function isNotable({ raw }: FastifyRequest, reply: FastifyReply) {
  const { code, isAudited } = factsOf(raw)
  return isAudited || reply.statusCode >= 400 || code !== undefined || msOf(reply) >= SLOW_MS
}
const msOf = ({ elapsedTime }: FastifyReply) => Math.round(elapsedTime)

/** Draws fewer of the long lines, unless all are logged: long ids must not make the log larger. */
function isDrawn(line: object) {
  const bytes = Buffer.byteLength(JSON.stringify(line)) + COMMON_BYTES
  return bytes <= TYPICAL_BYTES || Math.random() < TYPICAL_BYTES / bytes
}

/** It names the route, never the URL, which may contain secrets. */
function lineOf({ method, routeOptions, ip, raw }: FastifyRequest, reply: FastifyReply) {
  const { operations, appId, targetApps, userId: user, trace, ...facts } = factsOf(raw)
  const { code, reason, origin, refused } = facts
  const app = appId ?? (targetApps && [...targetApps].join(','))
  const names = [...new Set(operations)]
  const what =
    names.length > 0 ? { operation: names.join(',') } : { method, route: routeOptions.url ?? null }
  const calls = operations.length > 1 ? operations.length : undefined
  const ms = msOf(reply)
  const outcome = { status: reply.statusCode, code, reason, origin, refused }
  return { ...what, calls, app, user, ...outcome, ms, address: ip, trace }
}
