import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../core/metrics.ts'
import { isInTinyPieces } from '../core/tiny-pieces.ts'
import { NDJSON } from './bodies.ts'
import { createMemoryTally } from './memory-tally.ts'

type ArrivingBodiesOptions = {
  /** How many bytes of bodies this node may keep that have not arrived whole. */
  mostBytes: number
  metrics: Pick<Metrics, 'arrivingBodies' | 'bodiesCut'>
  turns: Turns
}

/** Divides the turns of the event loop. */
export type Turns = {
  hasRoom: (taken: number) => boolean
  take: () => void
  wait: (appId: string, goOn: () => void) => void
}
/** All bodies take turns as one app: their senders are not known yet. */
const NO_APP = ''

/** Bodies whose `Content-Length` is at most this are not counted: headers may take as much. */
const SMALL_BYTES = 16 * 1024
/** About what each received piece costs beside its bytes. A body may arrive byte by byte. */
const PIECE_BYTES = 256
/** A body of more pieces than this is cut if they are tiny. */
const MOST_TINY_PIECES = 16 * 1024
/** A shorter piece counts for a turn of the event loop. Few bodies have any. */
const SHORT_BYTES = 256

/**
 * Bounds the memory of request bodies that are still arriving. Anybody can send one slowly, and its
 * sender is not known before its end. When all together take too much, the connections of the
 * oldest are closed: an honest client finishes soon. So are those of bodies in tiny pieces. Short
 * pieces are taken a few in each turn of the event loop, so that others have theirs.
 */
export function boundArrivingBodies(
  app: FastifyInstance,
  { mostBytes, metrics, turns }: ArrivingBodiesOptions,
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
        if (isInTinyPieces({ pieces, bytes }, MOST_TINY_PIECES)) return arriving.cut(raw)
        arriving.grow(raw, length + PIECE_BYTES)
        if (arriving.isFull()) arriving.cutOldest()
        if (length < SHORT_BYTES) countForTurn(raw, turns)
      })
    }
    done(null, payload)
  })
}

/** If thousands of short pieces were read at once, the rest is taken in later turns. */
function countForTurn(body: IncomingMessage, turns: Turns) {
  turns.take()
  if (turns.hasRoom(0)) return
  body.pause()
  turns.wait(NO_APP, () => body.resume())
}

/** Whether a body is counted: not one that an operation reads as it arrives, nor a small one. */
function isCounted({ headers }: FastifyRequest) {
  if (headers['content-type'] === NDJSON) return false
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > SMALL_BYTES || headers['transfer-encoding'] !== undefined
}
