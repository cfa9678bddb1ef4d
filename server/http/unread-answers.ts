import type { Server, ServerResponse } from 'node:http'
import type { Metrics } from '../core/metrics.ts'
import { createMemoryTally } from './memory-tally.ts'

type UnreadAnswersOptions = {
  /** How many bytes of answers this node may keep for clients that have not read them. */
  mostBytes: number
  metrics: Pick<Metrics, 'unreadAnswers' | 'answersCut'>
}

/** Answers that the operating system takes at once are not counted. */
const SMALL_BYTES = 64 * 1024

/**
 * Counts the memory of answers that their clients have not read yet. With too much of it, the
 * connections of the oldest are closed: a client that reads is done soon.
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
      // Later: what the operating system can take at once is written by then.
      if (unread.isFull()) setImmediate(unread.cutOldest)
    })
  })
}
