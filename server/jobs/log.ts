import { Logger } from 'graphile-worker'

/** Where jobs tell what happened: Fastify's logger, or one like it. */
export type Log = Record<
  'info' | 'warn' | 'error' | 'debug',
  (facts: object, message: string) => void
>

/** The queue's own remarks: only its troubles are ours. */
export const queueLogger = (log: Log) =>
  new Logger(() => (level, message) => {
    if (level === 'error') log.error({}, message)
    else if (level === 'warning') log.warn({}, message)
    else log.debug({}, message)
  })
