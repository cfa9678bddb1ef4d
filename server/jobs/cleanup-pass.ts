import { performance } from 'node:perf_hooks'
import type { Metrics } from '../core/metrics.ts'
import { type Db, type DbConnection, type Deadline, isConnectionLost } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import type { CleanupTasks } from './cleanup-tasks.ts'

/** How long one task of a pass may take before it is the next one's turn. */
const TURN_MS = 8_000

/** Ends a task whose turn is over. It goes on in the next pass. */
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

/** A pass gives each task one turn. Tasks fail alone: the next one runs all the same. */
export function createPass({ tasks, stopping, onTurnOver, ...failures }: PassOptions): Pass {
  return async (connection, deadline) => {
    const signal = AbortSignal.any([stopping, deadline.signal])
    // The whole pass uses one connection, to leave the others to requests.
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

/** Tasks call it between their steps: it throws once the pass or the turn is over. */
function createCheckpoint(signal: AbortSignal) {
  const turnEnds = performance.now() + TURN_MS
  return () => {
    signal.throwIfAborted()
    if (performance.now() > turnEnds) throw new TurnOverError()
  }
}

/** Runs a part of a task. Unless the pass or the turn is over, a failure is reported: false. */
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
 * Limits how long a step waits for a lock, to a quarter of the time of a statement. So a step that
 * exceeds the statement's time was too large, and did not merely wait.
 */
const limitLockWaits = (connection: DbConnection) => connection`
  select set_config('lock_timeout', (s.setting::int / 4)::text, false)
  from pg_settings s
  where s.name = 'statement_timeout'`
