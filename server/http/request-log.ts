import type { FastifyReply, FastifyRequest } from 'fastify'
import { factsOf } from './request-facts.ts'

/** A call that takes longer is always logged. */
const SLOW_MS = 1_000
/** Asked every second or so, by every proxy. */
const PROBES = new Set(['/health', '/health/live'])

/**
 * Logs a request in one line, once it was answered. Of those that succeeded in time only a share is
 * logged; refused, failed and slow ones always are. The share is drawn here: by the trace, which a
 * caller may choose, they could hide from the log, or flood it. The line names the route, never the
 * URL, which may contain secrets.
 */
export const createRequestLog =
  ({ sample }: { sample: number }) =>
  ({ log, method, routeOptions, ip, raw }: FastifyRequest, reply: FastifyReply) => {
    const { operations, appId: app, userId: user, code, trace } = factsOf(raw)
    const status = reply.statusCode
    const ms = Math.round(reply.elapsedTime)
    const route = routeOptions.url ?? null
    // It has a line of its own, as the end of a socket.
    if (routeOptions.config.isEndless && status === 200) return
    const isProbe = route !== null && PROBES.has(route)
    const isNotable = status >= 400 || code !== undefined || ms >= SLOW_MS
    if (!isProbe && !isNotable && Math.random() >= sample) return
    const names = [...new Set(operations)]
    const what = names.length > 0 ? { operation: names.join(',') } : { method, route }
    const calls = operations.length > 1 ? operations.length : undefined
    const line = { ...what, calls, app, user, status, code, ms, address: ip, trace }
    if (isProbe) log.debug(line, 'request completed')
    else log.info(line, 'request completed')
  }
