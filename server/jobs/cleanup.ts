import { performance } from 'node:perf_hooks'
import type { Erasure } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { Metrics } from '../core/metrics.ts'
import { type Db, type DbConnection, DeadlineError, isConnectionLost } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import { createAbandonedPurge } from './abandoned.ts'
import { createBatchSize } from './batch-size.ts'
import {
  createErasurePositions,
  type DeletedUsers,
  type ErasureContext,
  eraseUsers,
  STEP,
} from './erasure.ts'
import {
  BATCH,
  expireDeliveries,
  expireEvents,
  expireInvites,
  expirePreviews,
  purgeChannels,
  thinReadMarks,
} from './retention.ts'

const INTERVAL_MS = 60_000
const RETRY_MS = 1_000
const PASS_TIMEOUT_MS = 60_000
/** How long one task of a pass may take before it is the next one's turn. */
const TURN_MS = 8_000
const THINNING_INTERVAL_MS = 3_600_000

export type Cleanup = Erasure & {
  /** Runs a pass now and every minute, where no crontab does. Returns a function that ends this. */
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
  /** Called with what a task failed with, or what ended a pass. */
  onError: (error: unknown, task?: string) => void
  /** After how many days channels and workspaces without members are deleted; 0: never. */
  purgeEmptyAfterDays?: number
  /** After this long a pass is ended, and the next one continues it. */
  passMs?: number
}

type TaskContext = Omit<ErasureContext, 'positions' | 'publisher' | 'mayWait'>
type CleanupTask = { name: string; most: number; run: (context: TaskContext) => Promise<void> }

/** Ends a task whose turn is over. It goes on in the next pass. */
class TurnOverError extends Error {
  override readonly name = 'TurnOverError'
}

/**
 * Deletes what deleted users and channels left behind, and what has expired, in short statements
 * and transactions. It may be interrupted at any point, and run on several nodes at once; an
 * advisory lock normally leaves it to one node at a time. Tasks take turns, and each fails alone.
 */
export function createCleanup({
  db,
  publisher,
  metrics,
  onError,
  purgeEmptyAfterDays = 0,
  passMs = PASS_TIMEOUT_MS,
}: CleanupOptions): Cleanup {
  const stopping = new AbortController()
  const positions = createErasurePositions()
  let isWanted = false
  let thinnedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const eraseDeletedUsers = async (context: TaskContext) => {
    for (const users of await selectDeletedUsers(context.db)) {
      const erasure = { ...context, publisher, positions, mayWait: false }
      await context.attempt(() => eraseUsers(erasure, users))
    }
  }
  const thinHourly = async (context: TaskContext) => {
    if (performance.now() - thinnedAt < THINNING_INTERVAL_MS) return
    await thinReadMarks(context)
    thinnedAt = performance.now()
  }
  const purgeAbandoned = createAbandonedPurge(purgeEmptyAfterDays)
  const tasks = [
    { name: 'events', most: BATCH, run: expireEvents },
    { name: 'deliveries', most: BATCH, run: expireDeliveries },
    { name: 'invites', most: BATCH, run: expireInvites },
    { name: 'previews', most: BATCH, run: expirePreviews },
    { name: 'users', most: STEP, run: eraseDeletedUsers },
    {
      name: 'abandoned',
      most: BATCH,
      run: (context: TaskContext) => purgeAbandoned({ ...context, publisher }),
    },
    { name: 'channels', most: BATCH, run: purgeChannels },
    { name: 'read_marks', most: BATCH, run: thinHourly },
  ].map((task: CleanupTask) => ({ ...task, batch: createBatchSize(task.most) }))

  const wake = () => {
    isWanted = true
    running ??= runPasses().finally(() => (running = undefined))
  }
  const runPasses = async () => {
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false
      const until = performance.now() + passMs
      await db.use(exclusively(pass, retryLater), until).catch(onPassFailed)
    }
  }
  const onPassFailed = (error: unknown) => {
    if (error instanceof DeadlineError) isWanted = true
    else if (!stopping.signal.aborted) onError(error)
  }
  const retryLater = () => {
    clearTimeout(retry)
    retry = setTimeout(wake, RETRY_MS).unref()
  }
  const pass = async (connection: DbConnection, deadline: AbortSignal) => {
    const signal = AbortSignal.any([stopping.signal, deadline])
    // The whole pass uses one connection, to leave the others to requests.
    const onOneConnection: Pick<Db, 'use'> = { use: (work) => work(connection, signal) }
    for (const task of tasks) {
      const turnEnds = performance.now() + TURN_MS
      const checkpoint = () => {
        signal.throwIfAborted()
        if (performance.now() > turnEnds) throw new TurnOverError()
      }
      const attempt = async (work: () => Promise<void>) => {
        try {
          await work()
          return true
        } catch (error) {
          if (error instanceof TurnOverError || signal.aborted || isConnectionLost(error))
            throw error
          metrics.cleanupFailures.inc({ task: task.name })
          onError(error, task.name)
          return false
        }
      }
      const context = { db: onOneConnection, checkpoint, attempt, batch: task.batch }
      await attempt(() => task.run(context)).catch((error) => {
        if (!(error instanceof TurnOverError)) throw error
        isWanted = true
      })
    }
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
  return {
    wake,
    run,
    start,
    stop,
    erase: (users, until) => {
      const checkpoint = () => {
        stopping.signal.throwIfAborted()
        if (performance.now() > until) throw new DeadlineError()
      }
      const attempt = async (work: () => Promise<void>) => {
        await work()
        return true
      }
      const batch = createBatchSize(STEP)
      const context = { db, publisher, checkpoint, attempt, batch, positions, mayWait: true }
      return eraseUsers(context, users)
    },
  }
}

/** Runs `work` unless another node holds the clean-up lock; in that case runs `onTaken`. */
const exclusively =
  (work: (connection: DbConnection, deadline: AbortSignal) => Promise<void>, onTaken: () => void) =>
  async (connection: DbConnection, deadline: AbortSignal) => {
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

const selectDeletedUsers = (db: Pick<Db, 'use'>) =>
  db.use(
    (db) => db<DeletedUsers[]>`
      select app_id, array_agg(id) as user_ids
      from (
        select u.app_id, u.id
        from users u
        where u.deleted_at is not null
          and u.forgotten_at is null
        order by u.deleted_at
        limit ${BATCH}
      ) deleted
      group by app_id`,
  )
