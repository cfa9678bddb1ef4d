import { write, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { logFormat } from './log-format.ts'

/** How many characters wait to be written: lines beyond them are lost, and counted. */
const MOST_WAITING = 1024 * 1024

/** The pause before lines that could not be written are tried again. */
const RETRY_MS = 100

/** How long a process waits for a reader that is busy, before its end and once more at its end. */
const LAST_MS = 1_000

/**
 * Writes lines to a file or a pipe, one write at a time. While its disk is full, or nobody reads,
 * lines wait and the process goes on: pino's own output throws then, and never lets it exit.
 */
export function createLogOutput(fd: number) {
  let current: Buffer = Buffer.alloc(0)
  let waiting = ''
  let state: 'idle' | 'writing' | 'pausing' = 'idle'
  /** Altogether, and since it was last said. */
  let lost = 0
  let unsaid = 0
  let onIdle = () => {}
  let isClosed = false

  const writeNext = () => {
    state = 'idle'
    if (current.length === 0) takeWaiting()
    if (current.length === 0) return onIdle()
    state = 'writing'
    write(fd, current, (error, written) => {
      if (error) {
        state = 'pausing'
        return void setTimeout(writeNext, RETRY_MS).unref()
      }
      current = current.subarray(written)
      writeNext()
    })
  }
  const takeWaiting = () => {
    if (unsaid > 0) report.warn({ lines: unsaid }, 'lines of the log were lost: it had no room')
    unsaid = 0
    current = Buffer.from(waiting)
    waiting = ''
  }
  const append = (line: string) => {
    waiting += line
  }
  const report = pino(logFormat('warn'), { write: append })

  return {
    write: (line: string) => {
      if (isClosed) return
      if (waiting.length + line.length > MOST_WAITING) {
        lost++
        unsaid++
        return
      }
      append(line)
      if (state === 'idle') writeNext()
    },
    /** How many lines were lost since the start. */
    lost: () => lost,
    /**
     * From now on lines are dropped, so that the last one is the last one. Resolves when all before
     * are written, or after a while if nobody takes them.
     */
    close: async () => {
      isClosed = true
      if (state === 'idle') return
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      await Promise.race([idle, pause(LAST_MS)])
    },
    /**
     * The process exits: a write that has begun ends by itself, but its callback never comes.
     * Unless the output was closed before, lines behind it may be written before it.
     */
    end: () => {
      if (state === 'writing') current = Buffer.alloc(0)
      writeAll(fd, Buffer.concat([current, Buffer.from(waiting)]))
    },
  }
}

/** Writes as much as it can. */
function writeAll(fd: number, lines: Buffer) {
  const deadline = performance.now() + LAST_MS
  for (let left = lines; left.length > 0; )
    try {
      left = left.subarray(writeSync(fd, left))
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isBusy || performance.now() > deadline) return
    }
}

let output: ReturnType<typeof createLogOutput> | undefined

/** Where all lines of this process go: its standard output. */
export function logOutput() {
  if (output) return output
  output = createLogOutput(1)
  process.on('exit', output.end)
  return output
}

/** The log of a part of this process that is no server. */
export const createLog = (level: string, nodeId?: string) =>
  pino(logFormat(level, nodeId), logOutput())
