import type { IncomingHttpHeaders } from 'node:http'
import { grouped, limits } from '@parley/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hasMoreValues } from '../core/count-values.ts'
import { ApiError } from '../core/errors.ts'
import { isRecord, parseJson } from '../core/json-text.ts'
import { hasUnsafeKeys, UNSAFE_KEYS } from '../core/unsafe-keys.ts'

/** The media type of bodies that operations read while they arrive. */
export const NDJSON = 'application/x-ndjson'

/**
 * Reads request bodies, except those that operations read as they arrive. An empty body counts as
 * none, with any method and content type. If a body cannot be read, an ApiError takes its place.
 * The call throws it after authentication, so that missing credentials are reported first.
 */
export function readBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addHook('onRequest', ({ headers, routeOptions }, _, done) => {
    headers['content-type'] = contentType(headers, routeOptions.config.streams)
    done()
  })
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => {
    done(null, body)
  })
  app.addContentTypeParser(NDJSON, ({ headers }, body, done) => {
    done(null, headers['content-encoding'] ? bodyError('expected no Content-Encoding') : body)
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => {
    const isEmpty = body.length === 0
    done(null, isEmpty ? undefined : bodyError('expected Content-Type: application/json'))
  })
}

/** How to read the body; undefined if there is none, or none of a known type. */
function contentType(headers: IncomingHttpHeaders, streams: string | undefined) {
  const given = headers['content-type'] ?? ''
  if (streams !== undefined && mediaTypeOf(given) === streams) return streams
  const isJson = /^application\/json *(;|$)/i.test(given)
  const isEmpty =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  return isJson && !isEmpty ? 'application/json' : undefined
}

/**
 * Split rather than matched: a pattern that allows spaces would be tried at each of up to 16,000.
 */
const mediaTypeOf = (contentType: string) => contentType.split(';', 1)[0]?.trimEnd().toLowerCase()

/**
 * The JSON object in the body of a request in UTF-8, if there is one, or an ApiError that says why
 * it cannot be read. It is parsed here, not on arrival: parsing a large body blocks the process, so
 * it is done only for callers who are known and within their limits.
 */
export function jsonOf(request: Pick<FastifyRequest, 'body' | 'routeOptions'>): unknown {
  const { body, routeOptions } = request
  if (!Buffer.isBuffer(body)) return body
  // Read only once, so drop the bytes: they would stay in memory beside the parsed values.
  request.body = undefined
  const text = decode(body)
  if (text === undefined) return bodyError('expected UTF-8')
  if (text === '') return undefined
  const most = mostValues(routeOptions.bodyLimit ?? limits.bodyBytes)
  if (hasMoreValues(body, most)) return bodyError(`expected at most ${grouped(most)} values`)
  const value = parseJson(text)
  if (value === undefined || hasUnsafeKeys(text, value)) return bodyError(UNREADABLE)
  return isRecord(value) ? value : bodyError('expected a JSON object')
}

const mostValues = (mostBytes: number) =>
  Math.min(limits.bodyValues.most, Math.floor(mostBytes / limits.bodyValues.bytesEach))

const utf8 = new TextDecoder('utf-8', { fatal: true })
const decode = (bytes: Buffer) => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
/** Keys that could change prototypes when an object is assigned are refused as well. */
const UNREADABLE = `expected valid JSON, without ${UNSAFE_KEYS}`
const bodyError = (problem: string) => new ApiError('VALIDATION_ERROR', `body: ${problem}`)
