import type { Server, ServerResponse } from 'node:http'
import type { Metrics } from '../core/metrics.ts'

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
  /** In the order in which they were given. */
  const unread = new Map<ServerResponse, number>()
  let total = 0
  const count = (bytes: number) => {
    total += bytes
    metrics.unreadAnswers.set(total)
  }
  const forget = (response: ServerResponse) => {
    count(-(unread.get(response) ?? 0))
    unread.delete(response)
  }
  const cut = () => {
    for (const response of unread.keys()) {
      if (total <= mostBytes) return
      forget(response)
      response.destroy()
      metrics.answersCut.inc()
    }
  }
  server.prependListener('request', (_, response) => {
    response.once('prefinish', () => {
      const bytes = response.socket?.writableLength ?? 0
      if (bytes <= SMALL_BYTES) return
      unread.set(response, bytes)
      count(bytes)
      response.once('close', () => forget(response))
      // Later: what the operating system can take at once is written by then.
      if (total > mostBytes) setImmediate(cut)
    })
  })
}
