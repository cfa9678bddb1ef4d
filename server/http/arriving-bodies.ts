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

/** A body that says that it is no longer than this is not counted: headers take as much. */
const SMALL_BYTES = 16 * 1024
/** About what each piece takes beside its bytes: a body may arrive byte by byte. */
const PIECE_BYTES = 256

/**
 * Counts the memory of bodies that have begun to arrive. Anybody can send one, slowly, and nobody
 * knows whose it is before its end. With too much of it, the connections of the oldest are closed:
 * a client that sends is done soon.
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
      raw.on('data', ({ length }: Buffer) => {
        arriving.grow(raw, length + PIECE_BYTES)
        if (arriving.isFull()) arriving.cutOldest()
      })
    }
    done(null, payload)
  })
}

/** A body that is read while it arrives is not kept. */
function isCounted({ headers }: FastifyRequest) {
  if (headers['content-type'] === NDJSON) return false
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > SMALL_BYTES || headers['transfer-encoding'] !== undefined
}
