import { pino } from 'pino'
import { isProductionProcess } from './config.ts'
import { logFormat } from './core/log-format.ts'

type Level = 'info' | 'warn' | 'fatal'

/** In production the reader is a program, which expects JSON in every line. */
const write = (level: Level, line: string) => pino(logFormat('info'))[level](line)

/**
 * What a server or a worker says of itself before it has a log, or when it has none any more: plain
 * lines for a terminal, in production lines of the log.
 */
export const processLog = {
  info: (line: string) => (isProductionProcess() ? write('info', line) : console.log(line)),
  warn: (line: string) =>
    isProductionProcess() ? write('warn', line) : console.warn(`Warning: ${line}`),
  fatal: (line: string) => (isProductionProcess() ? write('fatal', line) : console.error(line)),
  /** The end of the process by an error that nobody expected, with its stack. */
  uncaught: (error: unknown) =>
    isProductionProcess()
      ? pino(logFormat('info')).fatal({ err: error }, 'uncaught error: the process ends')
      : console.error(error),
}
