import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../core/metrics.ts'
import { NDJSON } from './bodies.ts'
import { createMemoryTally } from './memory-tally.ts'

type ArrivingBodiesOptions = {
  /** How many bytes of bodies this node may keep that have not arrived whole. */
  mostBytes: number
  metrics: Pick<Metrics, 'arrivingBodies' | 'bodiesCut'>
}

/** Bodies whose `Content-Length` is at most this are not counted: headers may take as much. */
const SMALL_BYTES = 16 * 1024
/** About what each received piece costs beside its bytes. A body may arrive byte by byte. */
const PIECE_BYTES = 256
/**
 * A body of more pieces than this is cut if they are so small: each takes microseconds, as many of
 * which are spent on a body of single bytes as on thousands of requests.
 */
const MOST_SMALL_PIECES = 16 * 1024
const SMALL_PIECE_BYTES = 16

/**
 * Bounds the memory of request bodies that are still arriving. Anybody can send one slowly, and its
 * sender is not known before its end. When all together take too much, the connections of the
 * oldest are closed: an honest client finishes soon. So are those of bodies in tiny pieces.
 */
export function boundArrivingBodies(
  app: FastifyInstance,
  { mostBytes, metrics }: ArrivingBodiesOptions,
) {
  const arriving = createMemoryTally<IncomingMessage>({
    mostBytes,
    gauge: metrics.arrivingBodies,
    cuts: metrics.bodiesCut,
  })
  app.addHook('preParsing', (request, _, payload, done) => {
    const { raw } = request
    if (isCounted(request) && !raw.destroyed) {
      arriving.add(raw, 0)
      let [pieces, bytes] = [0, 0]
      raw.on('data', ({ length }: Buffer) => {
        pieces += 1
        bytes += length
        const areSmall = bytes < pieces * SMALL_PIECE_BYTES
        if (areSmall && pieces > MOST_SMALL_PIECES) return arriving.cut(raw)
        arriving.grow(raw, length + PIECE_BYTES)
        if (arriving.isFull()) arriving.cutOldest()
      })
    }
    done(null, payload)
  })
}

/** Whether a body is counted: not one that an operation reads as it arrives, nor a small one. */
function isCounted({ headers }: FastifyRequest) {
  if (headers['content-type'] === NDJSON) return false
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > SMALL_BYTES || headers['transfer-encoding'] !== undefined
}
