import type { JobHelpers } from 'graphile-worker'
import { ApiError } from '../core/errors.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Log } from './log.ts'
import {
  type Batch,
  type Handlers,
  MAX_ATTEMPTS,
  type QueuedJob,
  type QueuedTask,
  RetryLaterError,
  taskSettings,
} from './tasks.ts'
import type { Timings } from './timings.ts'

type RunJobOptions<T extends QueuedTask> = {
  handler: Handlers[T]
  batch: Batch<T>
  helpers: JobHelpers
  timings: Timings
  metrics: Metrics
  log: Log
}

/**
 * Runs one job of the queue, a batch of ours. A job whose message or user is gone counts as done. A
 * batch that fails is split into single jobs, so that one bad job does not fail the others.
 */
export async function runJob<T extends QueuedTask>(
  task: T,
  { handler, batch, helpers, timings, metrics, log }: RunJobOptions<T>,
): Promise<void> {
  const { jobs, since, tries } = batch
  const ageSeconds = (Date.now() - Date.parse(since)) / 1000
  if (ageSeconds > taskSettings[task].maxAgeSeconds) {
    metrics.jobs.inc({ task, outcome: 'given_up' })
    return log.error({ task, tries, since }, 'job given up: too old')
  }
  let nextPage: QueuedJob<T>[] = []
  const addNextPage = async (runAt?: Date) => {
    const [first, ...others] = nextPage
    if (first) await addBatch(helpers, task, { jobs: [first, ...others], since, tries }, runAt)
  }
  try {
    await handler(jobs, {
      signal: helpers.abortSignal,
      continueWith: (jobs) => (nextPage = jobs),
    })
    await addNextPage()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return
    if (error instanceof RetryLaterError) {
      metrics.jobs.inc({ task, outcome: 'put_off' })
      log.warn({ task, tries, err: error.cause }, 'job put off')
      const pauseMs = Math.max(
        1000 * error.retryAfterSeconds,
        timings.backOffMs * backOffFactor(tries),
      )
      const runAt = new Date(Date.now() + pauseMs)
      await addBatch(helpers, error.task, { jobs: error.jobs, since, tries: tries + 1 }, runAt)
      return addNextPage(runAt)
    }
    if (jobs.length === 1) throw error
    for (const job of jobs) await addBatch(helpers, task, { jobs: [job], since, tries })
  }
}

/** Enqueues a batch, in the same named queue as the job that is running. */
async function addBatch(helpers: JobHelpers, task: QueuedTask, batch: Batch, runAt = new Date()) {
  const queueName = await helpers.getQueueName()
  await helpers.addJob(task, batch, {
    runAt,
    maxAttempts: MAX_ATTEMPTS,
    ...(queueName === null ? {} : { queueName }),
  })
}

/** 1, 2, 4 … 60, each with up to a quarter more at random, so that retries spread out. */
const backOffFactor = (tries: number) => Math.min(2 ** tries, 60) * (1 + Math.random() / 4)
