import { Logger } from 'graphile-worker'

/** The logger of background work: Fastify's, or one like it. */
export type Log = Record<
  'info' | 'warn' | 'error' | 'debug',
  (facts: object, message: string) => void
>

/**
 * Passes graphile-worker's log lines on. Its info lines are routine, so they become debug lines.
 */
export const queueLogger = (log: Log) =>
  new Logger(() => (level, message) => {
    if (level === 'error') log.error({}, message)
    else if (level === 'warning') log.warn({}, message)
    else log.debug({}, message)
  })
