import { performance } from 'node:perf_hooks'
import type { Erasure } from '../core/erasure.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { JobStaging } from '../core/jobs.ts'
import type { Metrics } from '../core/metrics.ts'
import { type Db, DeadlineError } from '../db/client.ts'
import { createBatchSize } from './batch-size.ts'
import { createPass, exclusively } from './cleanup-pass.ts'
import { createCleanupTasks } from './cleanup-tasks.ts'
import { eraseUsers } from './erasure.ts'
import { createErasurePositions, type ErasurePositions, STEP, STEP_MS } from './erasure-context.ts'

const INTERVAL_MS = 60_000
const RETRY_MS = 1_000
const PASS_TIMEOUT_MS = 60_000

export type Cleanup = Erasure & {
  /**
   * Runs a pass now and every minute, in a process without jobs. Returns a function that stops
   * this.
   */
  start: () => () => Promise<void>
  /** Runs a pass now. Resolves when everything is done, or when another node is running a pass. */
  run: () => Promise<void>
  /** Ends the current pass after its current step, for good. */
  stop: () => Promise<void>
}

type CleanupOptions = {
  db: Db
  publisher: EventPublisher
  metrics: Pick<Metrics, 'cleanupFailures'>
  /** Called with the error of a task, or the one that ended a pass. */
  onError: (error: unknown, task?: string) => void
  /** After how many days channels and workspaces without members are deleted; 0: never. */
  purgeEmptyAfterDays?: number
  /** After how many days entries of the audit log are deleted; 0: never. */
  auditRetentionDays?: number
  /** Stages jobs that remove users of deleted apps from the push provider. */
  staging?: JobStaging
  /** How long a pass may take. The next one continues it. */
  passMs?: number
}

/**
 * Deletes what deleted users and channels left behind, and what has expired, in short statements
 * and transactions. It may be interrupted at any point and run on several nodes at once, though an
 * advisory lock normally leaves it to one. Tasks take turns, and each fails alone.
 */
export function createCleanup({ passMs = PASS_TIMEOUT_MS, ...options }: CleanupOptions): Cleanup {
  const { db, publisher, metrics, onError, staging } = options
  const { purgeEmptyAfterDays = 0, auditRetentionDays = 0 } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const positions = createErasurePositions()
  let isWanted = false
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const pass = createPass({
    tasks: createCleanupTasks({
      publisher,
      staging,
      positions,
      purgeEmptyAfterDays,
      auditRetentionDays,
    }),
    stopping: signal,
    metrics,
    onError,
    onTurnOver: () => (isWanted = true),
  })

  const wake = () => {
    isWanted = true
    running ??= runPasses().finally(() => (running = undefined))
  }
  const runPasses = async () => {
    while (isWanted && !signal.aborted) {
      isWanted = false
      const until = performance.now() + passMs
      await db.use(exclusively(pass, retryLater), until).catch(onPassFailed)
    }
  }
  const onPassFailed = (error: unknown) => {
    if (error instanceof DeadlineError) isWanted = true
    else if (!signal.aborted) onError(error)
  }
  const retryLater = () => {
    clearTimeout(retry)
    retry = setTimeout(wake, RETRY_MS).unref()
  }
  const stop = async () => {
    stopping.abort()
    clearTimeout(retry)
    await running
  }
  const start = () => {
    const timer = setInterval(wake, INTERVAL_MS)
    wake()
    return () => {
      clearInterval(timer)
      return stop()
    }
  }
  const run = async () => {
    wake()
    await running
  }
  return { wake, run, start, stop, erase: createErase({ publisher, positions, signal }) }
}

type EraseOptions = Pick<CleanupOptions, 'publisher'> & {
  positions: ErasurePositions
  signal: AbortSignal
}

/** Erases users outside the passes, for a call that waits for it. */
function createErase({ signal, ...options }: EraseOptions): Erasure['erase'] {
  return (users, { use, until }) => {
    const checkpoint = () => {
      signal.throwIfAborted()
      if (performance.now() > until) throw new DeadlineError()
    }
    const batch = createBatchSize(STEP, { mostMs: STEP_MS })
    const context = { ...options, db: { use }, checkpoint, attempt: rethrowing, batch }
    return eraseUsers({ ...context, waitsForLocks: true }, users)
  }
}

/** Passes failures on to the caller. */
const rethrowing = async (work: () => Promise<void>) => {
  await work()
  return true
}
