import type { TaskList } from 'graphile-worker'
import type { EventPublisher } from '../core/event-bus.ts'
import type { GuardOptions } from '../core/guarded-request.ts'
import type { JobStaging } from '../core/jobs.ts'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db } from '../db/client.ts'
import type { Cleanup } from './cleanup.ts'
import { createCleanupJob } from './cleanup-job.ts'
import { startDraining } from './drain.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createFetch, type FetchOptions } from './previews/fetch.ts'
import { createPreviews } from './previews/index.ts'
import { createPushes } from './push/index.ts'
import type { PushSettings } from './push/settings.ts'
import { checkSubscriberIds } from './push/subscriber-ids.ts'
import { openQueue } from './queue.ts'
import { createRounds, type Rounds } from './rounds.ts'
import { runJob } from './run-job.ts'
import { scheduleCleanups } from './schedule-cleanups.ts'
import { type Handlers, type JobBatch, type QueuedTask, taskSettings } from './tasks.ts'
import { timings as defaults, type Timings } from './timings.ts'
import { startWebhooks } from './webhooks/index.ts'

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
  webhooks: GuardOptions
  timings?: Partial<Timings>
}

/** How many jobs each queue runs at once. They mostly wait for other sites or for the provider. */
const CONCURRENCY = { previews: 10, push: 4, subscribers: 4 }

/**
 * Runs background jobs in this process. Returns a function that stops this: jobs in progress
 * finish, or return to the queue.
 */
export async function startJobs({ timings: overrides, ...options }: JobsOptions) {
  const { db, databaseUrl, staging, publisher, metrics, cleanup, log } = options
  const timings = { ...defaults, ...overrides }
  const handlers: Partial<Handlers> = {
    ...createPreviews({ db, metrics, publisher, fetchFor: createFetch(options.previews) }),
    ...createPushes({ db, push: options.push, timings, metrics, log }),
  }
  // From 0: a counter that first appears at 1 shows no increase.
  for (const task of tasksOf(handlers)) metrics.jobs.inc({ task, outcome: 'given_up' }, 0)
  await checkSubscriberIds({ db, push: options.push, log })
  const queue = await openQueue({ databaseUrl, db, metrics, timings, log })
  const rounds = createRounds()
  const cleanupTasks = { cleanup: createCleanupJob(cleanup) }
  const runners = [queue.runTasks({ concurrency: 1, taskList: cleanupTasks })]
  for (const [name, concurrency] of Object.entries(CONCURRENCY)) {
    const taskList = taskListOf(name, { handlers, rounds, timings, metrics, log })
    if (Object.keys(taskList).length === 0) continue
    // Fetched together, jobs of one of graphile-worker's named queues would run side by side.
    const together = name === 'subscribers' ? {} : { localQueue: { size: concurrency } }
    runners.push(queue.runTasks({ concurrency, taskList, ...together }))
  }
  const stopHeartbeat = startHeartbeat({ db, queue, timings, metrics, log })
  const stopCleanups = scheduleCleanups({ db, timings, log })
  const tasks = tasksOf(handlers)
  const stopDraining = startDraining({ db, tasks, staging, rounds, timings, log })
  const stopWebhooks = startWebhooks({ db, metrics, webhooks: options.webhooks, timings, log })

  return async () => {
    await Promise.all([stopCleanups(), stopDraining(), stopWebhooks()])
    await Promise.all(runners.map((stop) => stop()))
    await stopHeartbeat()
    await queue.close()
  }
}

type RunContext = {
  handlers: Partial<Handlers>
  rounds: Rounds
  timings: Timings
  metrics: Metrics
  log: Log
}

/** The tasks of one queue that this process handles. */
function taskListOf(queue: string, { handlers, ...context }: RunContext) {
  const taskList: TaskList = {}
  for (const task of tasksOf(handlers)) {
    const handler = handlers[task]
    if (!handler || taskSettings[task].queue !== queue) continue
    taskList[task] = (batch, helpers) =>
      runJob(task, { handler, batch: batch as JobBatch, helpers, ...context }) // stored by us
  }
  return taskList
}

// Object.keys is typed string[].
const tasksOf = (handlers: Partial<Handlers>) => Object.keys(handlers) as QueuedTask[]
