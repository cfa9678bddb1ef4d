import { performance } from 'node:perf_hooks'
import type { Metrics } from '../core/metrics.ts'
import { type Db, type DbConnection, type Deadline, isConnectionLost } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import type { CleanupTasks } from './cleanup-tasks.ts'

/** How long a task may take in a pass before the next one has its turn. */
const TURN_MS = 8_000

/** Ends a task whose turn is over. It continues in the next pass. */
class TurnOverError extends Error {
  override readonly name = 'TurnOverError'
}

type Pass = (connection: DbConnection, deadline: Deadline) => Promise<void>

type PassOptions = {
  tasks: CleanupTasks
  /** Aborts when the process stops. */
  stopping: AbortSignal
  metrics: Pick<Metrics, 'cleanupFailures'>
  onError: (error: unknown, task: string) => void
  /** Called when a task has more to do than it could in its turn. */
  onTurnOver: () => void
}

/** Runs a pass, in which each task has one turn. Tasks fail alone: the next one still runs. */
export function createPass({ tasks, stopping, onTurnOver, ...failures }: PassOptions): Pass {
  // From 0: a counter that first appears with a failure shows no increase.
  for (const { name } of tasks) failures.metrics.cleanupFailures.inc({ task: name }, 0)
  return async (connection, deadline) => {
    const signal = AbortSignal.any([stopping, deadline.signal])
    // A pass uses one connection, to leave the others to requests.
    const ending: Deadline = { signal, throwIfAborted: () => signal.throwIfAborted() }
    const onOneConnection: Pick<Db, 'use'> = { use: (work) => work(connection, ending) }
    for (const task of tasks) {
      const checkpoint = createCheckpoint(signal)
      const attempt = createAttempt(task.name, { signal, ...failures })
      const context = { db: onOneConnection, checkpoint, attempt, batch: task.batch }
      await attempt(() => task.run(context)).catch((error) => {
        if (!(error instanceof TurnOverError)) throw error
        onTurnOver()
      })
    }
  }
}

/**
 * Makes the function that tasks call between steps: it throws once the pass or the turn is over.
 */
function createCheckpoint(signal: AbortSignal) {
  const turnEnds = performance.now() + TURN_MS
  return () => {
    signal.throwIfAborted()
    if (performance.now() > turnEnds) throw new TurnOverError()
  }
}

/**
 * Runs a part of a task. If it fails, reports that and returns false, unless the pass or the turn
 * is over.
 */
const createAttempt =
  (
    task: string,
    {
      signal,
      metrics,
      onError,
    }: { signal: AbortSignal } & Pick<PassOptions, 'metrics' | 'onError'>,
  ) =>
  async (work: () => Promise<void>) => {
    try {
      await work()
      return true
    } catch (error) {
      if (error instanceof TurnOverError || signal.aborted || isConnectionLost(error)) throw error
      metrics.cleanupFailures.inc({ task })
      onError(error, task)
      return false
    }
  }

/** Runs `work` unless another node holds the cleanup lock; in that case runs `onTaken`. */
export const exclusively =
  (work: Pass, onTaken: () => void): Pass =>
  async (connection, deadline) => {
    const [lock] = await connection<{ isOurs: boolean }[]>`
      select pg_try_advisory_lock(${locks.cleanup}, ${inSchema(connection)}) as is_ours`
    if (!lock?.isOurs) return onTaken()
    try {
      await limitLockWaits(connection)
      await work(connection, deadline)
    } finally {
      await Promise.all([
        connection`reset lock_timeout`,
        connection`select pg_advisory_unlock(${locks.cleanup}, ${inSchema(connection)})`,
      ])
    }
  }

/**
 * Limits how long a step waits for a lock to a quarter of a statement's time. So a step that
 * exceeds that time was too large, and not merely waiting.
 */
const limitLockWaits = (connection: DbConnection) => connection`
  select set_config('lock_timeout', (known.setting::int / 4)::text, false)
  from pg_settings known
  where known.name = 'statement_timeout'`
