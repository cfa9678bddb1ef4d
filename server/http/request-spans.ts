import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { beginSpan, continueSpan, type Span } from '../core/spans.ts'
import { factsOf } from './request-facts.ts'

/** Asked every second or so, by every proxy. */
const PROBES = new Set(['/health', '/health/live'])

/** Opens a span for each request, as a part of the caller's trace if it has one. */
export function traceRequests(app: FastifyInstance) {
  const spans = new WeakMap<IncomingMessage, Span>()
  app.addHook('onRequest', (request, _, done) => {
    const { raw, method, routeOptions } = request
    const { url: route = 'unknown route' } = routeOptions
    if (PROBES.has(route)) return done()
    const facts = factsOf(raw)
    const { traceparent } = raw.headers
    const span = beginSpan({
      name: `${method} ${route}`,
      kind: 'server',
      attributes: { 'http.request.method': method, 'http.route': route },
      causes: typeof traceparent === 'string' ? [traceparent] : [],
    })
    if (!span) return done()
    facts.trace = span.traceId
    spans.set(raw, span)
    continueSpan(span, done)
  })
  app.addHook('onResponse', async ({ raw }, { statusCode }) => {
    const span = spans.get(raw)
    if (!span) return
    const { appId, code } = factsOf(raw)
    span.set({
      'http.response.status_code': statusCode,
      ...(appId === undefined ? {} : { 'parley.app': appId }),
    })
    span.end(statusCode >= 500 ? (code ?? statusCode) : undefined)
  })
}
