import { EventEmitter, setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Runner, type RunnerOptions, run, runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { Metrics } from '../core/metrics.ts'
import { type Log, queueLogger } from './log.ts'
import type { Timings } from './timings.ts'

const MAX_CONNECTIONS = 12
const RESTART_MS = 1_000

type QueueOptions = { databaseUrl: string; metrics: Metrics; timings: Timings; log: Log }

/** The graphile-worker queue in the service's database, with its tables and connections. */
export async function openQueue({ databaseUrl, metrics, timings, log }: QueueOptions) {
  const pgPool = new pg.Pool({
    connectionString: databaseUrl,
    max: MAX_CONNECTIONS,
    application_name: 'parley-jobs',
  })
  const onConnectionLost = (error: Error) =>
    log.warn({ err: error }, 'job queue lost a database connection')
  pgPool.on('error', onConnectionLost)
  pgPool.on('connect', (client) => client.on('error', onConnectionLost))
  const workers = new Set<string>()
  const shared: RunnerOptions = {
    pgPool,
    logger: queueLogger(log),
    events: observeJobs({ workers, metrics, log }),
    noHandleSignals: true,
    pollInterval: timings.pollMs,
    gracefulShutdownAbortTimeout: timings.graceMs,
  }
  await runMigrations(shared)
  return {
    /** The ids under which this process locks jobs. */
    workers,
    /** Runs jobs of these tasks. Returns a function that stops this after the jobs in progress. */
    runTasks: (options: Pick<RunnerOptions, 'taskList' | 'concurrency' | 'crontab' | 'preset'>) =>
      keepRunning(() => run({ ...shared, ...options }), log),
    close: () => pgPool.end(),
  }
}

type Observers = { workers: Set<string>; metrics: Metrics; log: Log }

/** Collects the ids under which this process locks jobs. Counts how jobs end, and logs failures. */
function observeJobs({ workers, metrics: { jobs }, log }: Observers) {
  const events = new EventEmitter()
  events.on('pool:create', ({ workerPool }) => {
    workers.add(workerPool.id)
    // Every fetch of every job in progress adds a listener.
    setMaxListeners(0, workerPool.abortSignal)
  })
  events.on('worker:create', ({ worker }) => workers.add(worker.workerId))
  events.on('job:success', ({ job }) => jobs.inc({ task: job.task_identifier, outcome: 'done' }))
  events.on('job:error', ({ job, error }) => {
    const { task_identifier: task, id: jobId, attempts: attempt } = job
    jobs.inc({ task, outcome: 'failed' })
    log.warn({ err: error, task, jobId, attempt }, 'job failed')
  })
  events.on('job:failed', ({ job, error }) => {
    const { task_identifier: task, id: jobId, attempts } = job
    jobs.inc({ task, outcome: 'given_up' })
    log.error({ err: error, task, jobId, attempts }, 'job given up')
  })
  return events
}

/**
 * A runner ends when the database is unavailable for a while. This starts the next one, until
 * stopped.
 */
function keepRunning(start: () => Promise<Runner>, log: Log) {
  const stopped = new AbortController()
  const { signal } = stopped
  let runner: Runner | undefined
  const runUntilStopped = async () => {
    while (!signal.aborted) {
      try {
        runner = await start()
        if (signal.aborted) await runner.stop()
        await runner.promise
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'job queue unavailable, will restart')
      }
      await setTimeout(RESTART_MS, undefined, { signal }).catch(() => {})
    }
  }
  const ended = runUntilStopped()
  return async () => {
    stopped.abort()
    await runner?.stop().catch(() => {}) // it may have ended by itself
    await ended
  }
}
