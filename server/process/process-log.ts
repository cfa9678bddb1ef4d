import { format, type InspectOptions, inspect } from 'node:util'
import type { Logger } from 'pino'
import { isProductionProcess } from '../config/index.ts'
import { safeMessage } from '../core/describe-error.ts'
import { createLog } from '../core/log-output.ts'

type Level = 'info' | 'warn' | 'fatal'

/** In production the reader is a program, which expects JSON in every line. */
const write = (level: Level, line: string) => createLog('info')[level](line)

/**
 * Lines of a server or a worker about itself before it has a log, or when it has none any more:
 * plain lines for a terminal, in production lines of the log.
 */
export const processLog = {
  info: (line: string) => (isProductionProcess() ? write('info', line) : console.log(line)),
  warn: (line: string) =>
    isProductionProcess() ? write('warn', line) : console.warn(`Warning: ${line}`),
  /** Asked to end before there was a log, as in the middle of a start. */
  stopped: (ms: number) => createLog('info').info({ ms }, 'stopped'),
  fatal: (line: string) => (isProductionProcess() ? write('fatal', line) : console.error(line)),
  /** The end of the process by an error that nobody expected, with its stack. */
  uncaught: (error: unknown) =>
    isProductionProcess()
      ? createLog('info').fatal({ err: error }, 'uncaught error: the process ends')
      : console.error(error),
}

/** The level of what is written to the console by each of these methods. */
const CONSOLE = {
  error: 'error',
  warn: 'warn',
  trace: 'warn',
  log: 'info',
  info: 'info',
  debug: 'debug',
  dirxml: 'info',
} as const
const METHODS = ['error', 'warn', 'trace', 'log', 'info', 'debug', 'dirxml'] as const

/** Says which failures are those of an outage, which has a line of its own: `debug`. */
type LevelOf = (error: unknown) => string

/**
 * Makes lines of the log of what libraries write to the console, and of the warnings of Node.js:
 * in production every line is one. What comes of an outage of the database is a debug line.
 */
export function captureConsole(logLevel: string, levelOf: LevelOf) {
  const log = createLog(logLevel)
  capture(METHODS, { log, levelOf })
  console.dir = (given: unknown, options?: InspectOptions) =>
    log.info({ console: 'dir' }, inspect(given, { customInspect: false, ...options }))
  process.removeAllListeners('warning')
  process.on('warning', (err) => log.warn({ err }, safeMessage(err)))
}

/**
 * Outside production, where our own lines are for a terminal, only the traces of libraries become
 * lines of the log: the queue writes one of many lines for each connection that an outage ends.
 */
export const captureTraces = (logLevel: string, levelOf: LevelOf) =>
  capture(['trace'], { log: createLog(logLevel), levelOf })

type CaptureOptions = { log: Logger; levelOf: LevelOf }

function capture(methods: readonly (keyof typeof CONSOLE)[], { log, levelOf }: CaptureOptions) {
  for (const method of methods)
    console[method] = (...given: unknown[]) => {
      const err = given.find((one) => one instanceof Error)
      const level = levelOf(err) === 'debug' ? 'debug' : CONSOLE[method]
      log[level]({ ...(err && { err }), console: method }, textOf(given, err))
    }
}

/** Formats like `console`, but prints only the message of an error, never as a format string. */
function textOf(given: unknown[], err: Error | undefined) {
  const texts = given.map((one) => (one instanceof Error ? safeMessage(one) : one))
  return err && given[0] === err ? format('%s', ...texts) : format(...texts)
}
