import { EventEmitter, once, setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { RunnerOptions } from 'graphile-worker'
import type pg from 'pg'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import { IDLE_OUTSIDE_POOLS_MS } from '../db/connection.ts'
import { queueSchemaOf } from '../db/own-schema.ts'
import { ownSchema } from '../db/schema-name.ts'
import { isQueueBehind } from '../db/schema-state.ts'
import { ConnectionClosedError } from '../db/single-socket.ts'
import { useOnce } from '../db/use-once.ts'
import { run, runMigrations } from './graphile-worker.ts'
import { releaseWorkers } from './heartbeat.ts'
import { levelOf, queueLogger } from './log.ts'
import { createQueuePool } from './queue-pool.ts'
import { NotStoredError } from './tasks.ts'
import type { Timings } from './timings.ts'
import { answers, watchFetching } from './watch-fetching.ts'

const RESTART_MS = 1_000
/** How long a stopped runner may take before the next one starts. */
const STOP_MS = 10_000
/**
 * graphile-worker does not wait for a job's end to be recorded, and without these batches nothing
 * handles an error there: it would end the process. With them, the error ends the runner.
 */
const RECORDING = { completeJobBatchDelay: 0, failJobBatchDelay: 0 }

type QueueOptions = {
  databaseUrl: string
  db: Db
  metrics: Metrics
  timings: Timings
  log: Log
}
type Tasks = Required<Pick<RunnerOptions, 'taskList' | 'concurrency'>> & {
  localQueue?: { size: number }
}

/** The graphile-worker queue in the service's database, with its tables and connections. */
export async function openQueue({ databaseUrl, db, metrics, timings, log }: QueueOptions) {
  const { pgPool, cut, close } = createQueuePool(databaseUrl, {
    onConnectionLost: (error) => log.debug({ err: error }, 'job queue lost a database connection'),
  })
  const surviveFailedReturn = (error: unknown) => {
    if (!isFailedReturn(error)) throw error
    log.debug({ err: error }, 'could not return fetched jobs to the queue; they will be released')
  }
  process.on('unhandledRejection', surviveFailedReturn)
  const workers = new Set<string>()
  const notStored = new Map<string, number>()
  const shared: RunnerOptions = {
    pgPool,
    schema: queueSchemaOf(databaseUrl),
    logger: queueLogger(log),
    noHandleSignals: true,
    // Otherwise it reads a file `crontab` of the current folder, whosever that is.
    parsedCronItems: [],
    pollInterval: timings.pollMs,
    gracefulShutdownAbortTimeout: timings.graceMs,
  }
  await migrateTables(pgPool, databaseUrl)

  /** Runs tasks until the runner ends, or does not fetch although the database answers. */
  const runOnce = async ({ localQueue, ...tasks }: Tasks, signal: AbortSignal) => {
    const own = new Set<string>()
    const events = observeJobs({ own, workers, notStored, metrics, log })
    const { concurrency } = tasks
    const stalled = watchFetching(events, { db, timings, log, concurrency })
    try {
      const preset = { worker: { ...RECORDING, ...(localQueue && { localQueue }) } }
      const runner = await run({ ...shared, ...tasks, preset, events })
      const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort')
      const stopping = aborted.then(() => runner.stop())
      await Promise.race([runner.promise, stopping, stalled.promise])
      if (!stalled.isStalled()) return await runner.promise
      cut()
      await Promise.race([runner.stop(), setTimeout(STOP_MS, undefined, { ref: false })])
    } finally {
      stalled.stop()
      for (const id of own) workers.delete(id)
      await releaseWorkers({ db, metrics, log }, { workers: [...own], notStored })
    }
  }
  return {
    /** The ids under which this process locks jobs. */
    workers,
    /** Jobs whose outcome could not be stored, and the attempts each had: it gets one back. */
    notStored,
    /** Runs jobs of these tasks. Returns a function that stops this after the jobs in progress. */
    runTasks: (tasks: Tasks) => keepRunning((signal) => runOnce(tasks, signal), { db, log }),
    close: async () => {
      process.off('unhandledRejection', surviveFailedReturn)
      await close()
    },
  }
}

/** Migrates the tables of the queue, also for servers whose role may not. */
export async function migrateQueue(databaseUrl: string) {
  // It refuses those of a newer version, in words that lead further than those of graphile-worker.
  await useOnce(databaseUrl, isQueueBehind)
  const { pgPool, close } = createQueuePool(databaseUrl, {
    onConnectionLost: () => {},
    idleInTransactionMs: IDLE_OUTSIDE_POOLS_MS,
  })
  try {
    await migrateTables(pgPool, databaseUrl)
  } catch (error) {
    // The driver does not give this error a code.
    const isLost = error instanceof Error && error.message.startsWith('Connection terminated')
    throw isLost ? new ConnectionClosedError() : error
  } finally {
    await close()
  }
}

async function migrateTables(pgPool: pg.Pool, databaseUrl: string) {
  if (ownSchema(databaseUrl) !== undefined) await createMigrationsTable(pgPool)
  await runMigrations({ pgPool, schema: queueSchemaOf(databaseUrl) })
}

/**
 * graphile-worker would begin by `create schema if not exists`, for which a role that owns only its
 * schema has no right, although the schema exists. If this table exists, it does not.
 */
const createMigrationsTable = async (pool: pg.Pool) => {
  // Checked first: a role without the right is refused although there is nothing to create.
  const { rowCount } = await pool.query(`select where to_regclass('migrations') is null`)
  if (rowCount === 0) return
  await pool.query(`
    create table if not exists migrations (
      id int primary key,
      ts timestamptz not null default now(),
      breaking boolean not null default false
    )`)
}

/**
 * A released local queue gives back the jobs that it has fetched. graphile-worker does not handle
 * the loss of the database at that moment, which would end the process. The jobs are released with
 * their worker.
 */
const isFailedReturn = (error: unknown) =>
  error instanceof Error &&
  error.message.startsWith('Error occurred whilst returning jobs from local queue')

type Observers = {
  own: Set<string>
  workers: Set<string>
  notStored: Map<string, number>
  metrics: Metrics
  log: Log
}

/** Collects the ids under which this process locks jobs. Counts how jobs end, and logs failures. */
function observeJobs({ own, workers, notStored, metrics: { jobs }, log }: Observers) {
  const events = new EventEmitter()
  const addWorker = (id: string) => {
    own.add(id)
    workers.add(id)
  }
  events.on('pool:create', ({ workerPool }) => {
    addWorker(workerPool.id)
    // Every fetch of every job in progress adds a listener.
    setMaxListeners(0, workerPool.abortSignal)
  })
  events.on('worker:create', ({ worker }) => addWorker(worker.workerId))
  events.on('job:success', ({ job }) => jobs.inc({ task: job.task_identifier, outcome: 'done' }))
  events.on('job:error', ({ job, error }) => {
    const { task_identifier: task, id: jobId, attempts: attempt } = job
    if (error instanceof NotStoredError) {
      notStored.set(jobId, job.max_attempts)
      return log[levelOf(error)]({ err: error.cause, task, jobId }, 'job interrupted')
    }
    jobs.inc({ task, outcome: 'failed' })
    log[levelOf(error)]({ err: error, task, jobId, attempt }, 'job failed')
  })
  events.on('job:failed', ({ job, error }) => {
    if (error instanceof NotStoredError) return
    const { task_identifier: task, id: jobId, attempts } = job
    jobs.inc({ task, outcome: 'given_up' })
    log.error({ err: error, task, jobId, attempts }, 'job given up')
  })
  return events
}

/**
 * Keeps a runner running. One ends when the database is unavailable for a while, or when it has
 * stalled; this starts the next, until stopped.
 */
function keepRunning(
  runOnce: (signal: AbortSignal) => Promise<void>,
  { db, log }: Pick<QueueOptions, 'db' | 'log'>,
) {
  const stopped = new AbortController()
  const { signal } = stopped
  const runUntilStopped = async () => {
    while (!signal.aborted) {
      try {
        await runOnce(signal)
      } catch (error) {
        // An outage has its own line, and this would add one a second.
        const level = (await answers(db)) ? 'warn' : 'debug'
        if (!signal.aborted) log[level]({ err: error }, 'job queue unavailable, will restart')
      }
      await setTimeout(RESTART_MS, undefined, { signal }).catch(() => {})
    }
  }
  const ended = runUntilStopped()
  return () => {
    stopped.abort()
    return ended
  }
}
