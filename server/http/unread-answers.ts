import type { Server, ServerResponse } from 'node:http'
import type { Metrics } from '../core/metrics.ts'
import { createMemoryTally } from './memory-tally.ts'

type UnreadAnswersOptions = {
  /** How many bytes of answers this node may keep for clients that have not read them. */
  mostBytes: number
  metrics: Pick<Metrics, 'unreadAnswers' | 'answersCut'>
}

/** Answers that are smaller fit into the operating system's buffers, and are not counted. */
const SMALL_BYTES = 64 * 1024

/**
 * Bounds the memory of answers that clients have not read yet. When all together take too much, the
 * connections of the oldest are closed: an honest client reads soon.
 */
export function boundUnreadAnswers(server: Server, { mostBytes, metrics }: UnreadAnswersOptions) {
  const unread = createMemoryTally<ServerResponse>({
    mostBytes,
    gauge: metrics.unreadAnswers,
    cuts: metrics.answersCut,
  })
  server.prependListener('request', (_, response) => {
    response.once('prefinish', () => {
      const bytes = response.socket?.writableLength ?? 0
      if (bytes <= SMALL_BYTES) return
      unread.add(response, bytes)
      // After this turn the operating system has taken what it can.
      if (unread.isFull()) setImmediate(unread.cutOldest)
    })
  })
}
