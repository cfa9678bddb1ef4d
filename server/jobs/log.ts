import type { Log } from '../core/log.ts'
import { isOutage } from '../db/client.ts'
import { Logger } from './graphile-worker.ts'
import { isQueueLost } from './queue-pool.ts'
import { NotStoredError } from './tasks.ts'

/** The log level of a failure. An outage has its own line, and each retry would add another. */
export const levelOf = (error: unknown, otherwise: 'warn' | 'error' = 'warn') =>
  isQueueOutage(error) ? 'debug' : otherwise

const isQueueOutage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  if (error instanceof NotStoredError) return isQueueOutage(error.cause)
  if (isOutage(error) || isQueueLost(error)) return true
  return error instanceof AggregateError && error.errors.some(isQueueOutage)
}

/** The line of a runner that stops by itself. Whoever starts the next one logs its error. */
const STOPPING = 'Runner stopping'

/**
 * Passes graphile-worker's log lines on. Its info lines are routine, so they become debug lines.
 * Failed jobs have a line of ours: its own quotes the error, which may quote a row.
 */
export const queueLogger = (log: Log) =>
  new Logger(() => (level, message, meta) => {
    if (meta?.failure === true) return
    if (level === 'error') log[levelOf(meta?.fatalError ?? meta?.error, 'error')]({}, message)
    else if (level === 'warning' && !message.startsWith(STOPPING)) log.warn({}, message)
    else log.debug({}, message)
  })
