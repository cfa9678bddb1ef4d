import { safeMessage } from '../core/describe-error.ts'
import { logOutput } from '../core/log-output.ts'
import { takeSignals } from './early-signals.ts'
import { processLog } from './process-log.ts'

/** Stops something that the process has started. */
export type StopFunction = () => Promise<unknown>

/** A process that has not stopped after this time exits, once it has written its last lines. */
const STOP_TIMEOUT_MS = 13_000

/** Ends the process. If it is given a reason, that is the last line which the process writes. */
export type Stop = (exitCode?: number, reason?: string) => void

type ProcessOptions = {
  start: (stop: Stop) => Promise<void>
  /** Awaited before a healthy process stops. Meanwhile the process goes on serving. */
  beforeStop?: () => Promise<void>
  /** Filled by `start`. */
  stopFunctions: StopFunction[]
  /** The process was asked to end, and all that it has started has stopped. */
  onStopped?: (milliseconds: number) => void
  /** Called on SIGHUP, after which the process goes on. Without it, the process stops. */
  onHangup?: () => (() => void) | undefined
}

/**
 * Runs a process from start to exit. On a signal, or when the start fails, everything that was
 * started is stopped in reverse order. A second signal exits at once.
 */
export function runProcess(options: ProcessOptions) {
  const { start, beforeStop, stopFunctions, onStopped, onHangup } = options
  // After a bug the state is unknown: what is open is left to the other side.
  process.on('uncaughtException', (error) => {
    processLog.uncaught(error)
    process.exit(1)
  })
  let isStopping = false
  const stop = async (exitCode: number, reason?: string) => {
    isStopping = true
    const startedAt = performance.now()
    let isExiting = false
    const exit = async () => {
      isExiting = true
      clearTimeout(givingUp)
      if (reason !== undefined) processLog.fatal(reason)
      await logOutput().close()
      process.exit(exitCode)
    }
    const giveUp = () => {
      processLog.warn(`not stopped within ${STOP_TIMEOUT_MS / 1_000} s: the process ends`)
      void exit()
    }
    if (exitCode === 0) await beforeStop?.()
    const givingUp = setTimeout(giveUp, STOP_TIMEOUT_MS).unref()
    for (let stopNext = stopFunctions.pop(); stopNext; stopNext = stopFunctions.pop())
      await stopNext().catch((error) => processLog.warn(errorMessage(error)))
    if (isExiting) return
    if (exitCode === 0) onStopped?.(Math.round(performance.now() - startedAt))
    await exit()
  }
  const stopOnce: Stop = (exitCode = 0, reason) => {
    if (!isStopping) void stop(exitCode, reason)
  }
  let isSignalled = false
  // A worker process is told to stop by the first one, and a service manager may signal it as well.
  const onSignal = () => {
    if (isSignalled) process.exit(1)
    isSignalled = true
    stopOnce()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const goOn = signal === 'SIGHUP' ? onHangup?.() : undefined
      if (goOn) return goOn()
      onSignal()
    })
  }
  // Its handlers are in place.
  if (takeSignals()) return onSignal()
  start(stopOnce).catch((error) => {
    if (isStopping) return
    processLog.fatal(errorMessage(error))
    void stop(1)
  })
}

/**
 * Stops when the parent process has ended. Ending npm ends the shell in which npm started us, and
 * neither of them signals us.
 */
export function stopWithParent(stop: () => void) {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop()
  }, 500).unref()
}

/**
 * The most specific message of an error, in one line: that of its cause, or of the first address if
 * several were tried.
 */
export const errorMessage = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return errorMessage(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return errorMessage(error.cause)
  return error instanceof Error ? safeMessage(error).replace(/\s*\n\s*/g, ' ') : String(error)
}
