import { EventEmitter, once, setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Runner, run, runMigrations, type Task, type TaskList } from 'graphile-worker'
import pg from 'pg'
import type { EventPublisher } from '../core/event-bus.ts'
import type { JobStaging } from '../core/jobs.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import type { Cleanup } from './cleanup.ts'
import { startDraining } from './drain.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type Log, queueLogger } from './log.ts'
import { createFetch, type FetchOptions } from './previews/fetch.ts'
import { createPreviews } from './previews/index.ts'
import { createPushes } from './push/index.ts'
import type { PushSettings } from './push/settings.ts'
import { carryOut, type Handlers, type Stored, settings, type WorkTask } from './tasks.ts'
import { timings as defaults, type Timings } from './timings.ts'
import { withTimeout } from './with-timeout.ts'

export type JobsOptions = {
  db: Db
  databaseUrl: string
  staging: JobStaging
  publisher: EventPublisher
  metrics: Metrics
  cleanup: Pick<Cleanup, 'run'>
  log: Log
  previews: FetchOptions
  push: PushSettings | undefined
  timings?: Partial<Timings>
}

/** Page fetches wait for strangers, pushes for the provider: each so many at once. */
const CONCURRENCY = { previews: 10, push: 4 }
/** One clean-up waits at the most; it takes up what the last one had no time for. */
const CRONTAB = '* * * * * cleanup ?jobKey=cleanup&max=1'
const CLEANUP_MS = 60_000

/** Carries out promised work in this process. Answers with a function that ends it, once the jobs in progress have ended or been put back. */
export async function startJobs({
  db,
  databaseUrl,
  staging,
  publisher,
  metrics,
  cleanup,
  log,
  previews,
  push,
  ...given
}: JobsOptions) {
  const timings = { ...defaults, ...given.timings }
  const handlers: Partial<Handlers> = {
    ...createPreviews({ db, metrics, publisher, fetch: createFetch(previews) }),
    ...createPushes({ db, push, metrics, log }),
  }
  const pgPool = new pg.Pool({
    connectionString: databaseUrl,
    max: 12,
    application_name: 'parley-jobs',
  })
  const onLost = (error: Error) => log.warn({ err: error }, 'the job queue lost a connection')
  pgPool.on('error', onLost)
  pgPool.on('connect', (client) => client.on('error', onLost))
  const workers = new Set<string>()
  const shared = {
    pgPool,
    logger: queueLogger(log),
    events: watch({ workers, metrics, log }),
    noHandleSignals: true,
    pollInterval: timings.pollMs,
    gracefulShutdownAbortTimeout: timings.graceMs,
  }
  await runMigrations(shared)

  const tasks = Object.keys(handlers) as WorkTask[] // keys forget the names
  const queues = Object.entries(CONCURRENCY).flatMap(([queue, concurrency]) => {
    const taskList: TaskList = Object.fromEntries(
      tasks.flatMap((task) => {
        const handler = settings[task].queue === queue && handlers[task]
        return handler
          ? [
              [
                task,
                (stored, helpers) =>
                  carryOut(task, {
                    handler,
                    stored: stored as Stored,
                    helpers,
                    timings,
                    metrics,
                    log,
                  }),
              ],
            ]
          : [] // stored by us
      }),
    )
    if (Object.keys(taskList).length === 0) return []
    return keepRunning(
      () =>
        run({
          ...shared,
          concurrency,
          taskList,
          preset: { worker: { localQueue: { size: concurrency } } },
        }),
      log,
    )
  })
  const clean: Task = (_, { abortSignal }) =>
    withTimeout(CLEANUP_MS, abortSignal, (signal) =>
      Promise.race([cleanup.run(), once(signal, 'abort')]),
    )
  queues.push(
    keepRunning(
      () => run({ ...shared, concurrency: 1, taskList: { cleanup: clean }, crontab: CRONTAB }),
      log,
    ),
  )
  const stopRescue = startHeartbeat({ db, workers, timings, log })
  const stopDraining = startDraining({ db, tasks, staging, timings, log })

  return async () => {
    await stopDraining()
    await Promise.all(queues.map((stop) => stop()))
    await stopRescue()
    await pgPool.end()
  }
}

/** Notes the names under which this process locks jobs, and tells of jobs that fail. */
function watch({
  workers,
  metrics: { jobs },
  log,
}: {
  workers: Set<string>
  metrics: Metrics
  log: Log
}) {
  const events = new EventEmitter()
  events.on('pool:create', ({ workerPool }) => {
    workers.add(workerPool.id)
    // Every fetch of every job in progress listens to it.
    setMaxListeners(0, workerPool.abortSignal)
  })
  events.on('worker:create', ({ worker }) => workers.add(worker.workerId))
  events.on('job:success', ({ job }) => jobs.inc({ task: job.task_identifier, outcome: 'done' }))
  events.on('job:error', ({ job, error }) => {
    jobs.inc({ task: job.task_identifier, outcome: 'failed' })
    log.warn(
      { err: error, task: job.task_identifier, jobId: job.id, attempt: job.attempts },
      'job failed',
    )
  })
  events.on('job:failed', ({ job, error }) => {
    jobs.inc({ task: job.task_identifier, outcome: 'given_up' })
    log.error(
      { err: error, task: job.task_identifier, jobId: job.id, attempts: job.attempts },
      'job given up',
    )
  })
  return events
}

/** A runner gives up when the database has been away for a while; the next one takes over. */
function keepRunning(start: () => Promise<Runner>, log: Log) {
  const stopped = new AbortController()
  let runner: Runner | undefined
  const live = async () => {
    while (!stopped.signal.aborted) {
      try {
        runner = await start()
        if (stopped.signal.aborted) await runner.stop()
        await runner.promise
      } catch (error) {
        if (!stopped.signal.aborted) log.warn({ err: error }, 'the job queue is out of reach')
      }
      await setTimeout(1_000, undefined, { signal: stopped.signal }).catch(() => {})
    }
  }
  const life = live()
  return async () => {
    stopped.abort()
    await runner?.stop().catch(() => {}) // it may have ended by itself
    await life
  }
}
