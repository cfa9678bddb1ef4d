import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { JobHelpers } from 'graphile-worker'
import { safeMessage } from '../core/describe-error.ts'
import { ApiError } from '../core/errors.ts'
import { MAX_ATTEMPTS } from '../core/jobs.ts'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { inSpan, traceIdOf } from '../core/spans.ts'
import { withTimeout } from '../core/with-timeout.ts'
import { isDatabaseUnavailable, isStatementTimeout } from '../db/client.ts'
import { keepGivenUp } from './given-up.ts'
import { jobTraces } from './job-trace.ts'
import { levelOf } from './log.ts'
import { isQueueUnavailable } from './queue-pool.ts'
import type { Rounds } from './rounds.ts'
import {
  type HandlerContext,
  type Handlers,
  type JobBatch,
  messagesOf,
  NotStoredError,
  OverShareError,
  type QueuedJob,
  type QueuedTask,
  RetryLaterError,
  survivedDeaths,
  taskSettings,
} from './tasks.ts'
import type { Timings } from './timings.ts'

type RunJobOptions<T extends QueuedTask> = {
  handler: Handlers[T]
  batch: JobBatch<T>
  helpers: JobHelpers
  rounds: Rounds
  timings: Timings
  metrics: Metrics
  log: Log
}

/** After so many workers died with a batch, it is split, to find the job to blame. */
const DEATHS_BEFORE_SPLIT = 2
/** How often storing a later job is retried while the database is unavailable. */
const MAX_STORE_TRIES = 8

/**
 * Runs one job of the queue, a batch of ours. A job whose message or user is gone counts as done. A
 * batch that fails is split into single jobs, so that one bad job does not fail the others. Only
 * bugs count as attempts: not an unavailable provider or database, nor the end of the process.
 */
export async function runJob<T extends QueuedTask>(
  task: T,
  { handler, batch, helpers, rounds, timings, metrics, log }: RunJobOptions<T>,
): Promise<void> {
  const { jobs, since, tries } = batch
  const { job, abortSignal: signal } = helpers
  const about = { traces: tracesOf(jobs), messages: messagesOf(jobs) }
  // By the database's clock: that of this machine may be wrong.
  const takenAt = job.locked_at ?? new Date()
  const ageSeconds = (takenAt.getTime() - Date.parse(since)) / 1000
  // The queue counts this attempt, too.
  const failures = tries + job.attempts - 1
  const requeue = (task: QueuedTask, batch: JobBatch, reason: string) =>
    untilStored(() => keepGivenUp(helpers, { task, batch, reason }), { signal, timings })
  if (ageSeconds > taskSettings[task].maxAgeSeconds) {
    const facts = { task, tries, since, jobs: jobs.length, ...about, reason: batch.reason }
    if (batch.isOverShare) {
      metrics.jobs.inc({ task, outcome: 'dropped' })
      return log.debug(facts, 'job dropped: too old')
    }
    const reason = batch.reason === undefined ? 'too old' : `too old: ${batch.reason}`
    await requeue(task, { ...batch, attempts: failures }, reason)
    metrics.jobs.inc({ task, outcome: 'given_up' })
    return log.error(facts, 'job given up: too old')
  }
  const add = (task: QueuedTask, batch: JobBatch, { round = job.priority, pauseMs = 0 } = {}) =>
    untilStored(() => addBatch(helpers, { task, batch, pauseMs, round }), { signal, timings })
  // In a round of its own: otherwise the jobs of one tenant would hold up all others.
  const addFurther = (batch: JobBatch<T>, pauseMs?: number) => {
    const round = rounds.take({ task, appId: batch.jobs[0].appId }, job.priority)
    return add(task, batch, { round, pauseMs })
  }
  let nextPage: QueuedJob<T>[] = []
  const addNextPage = async (pauseMs?: number) => {
    // Those of one app do not wait for those of others.
    for (const id of new Set(nextPage.map(({ appId }) => appId))) {
      const [first, ...others] = nextPage.filter(({ appId }) => appId === id)
      if (!first) continue
      await addFurther({ jobs: [first, ...others], since, tries }, pauseMs)
    }
  }
  const split = async () => {
    for (const job of jobs) await addFurther({ jobs: [job], since, tries })
  }
  if (jobs.length > 1 && survivedDeaths(job.max_attempts) >= DEATHS_BEFORE_SPLIT) return split()
  try {
    const continueWith = (jobs: QueuedJob<T>[]) => (nextPage = jobs)
    const span = () => ({
      name: `job ${task}`,
      kind: 'consumer' as const,
      causes: traceContextsOf(jobs),
    })
    const giveUp: HandlerContext<T>['giveUp'] = (task, jobs, reason) =>
      requeue(task, { jobs, since, tries, attempts: failures + 1 }, reason)
    await inSpan(span, () =>
      jobTraces.run(about.traces, () =>
        runWithDeadline({ signal, timings }, (signal) =>
          handler(jobs, { signal, takenAt, continueWith, giveUp }),
        ),
      ),
    )
    log.debug({ task, ...about, jobs: jobs.length }, 'job done')
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return
    // One job may be too slow where the others are not.
    if (jobs.length > 1 && isStatementTimeout(error)) return split()
    const later = isDatabaseUnavailable(error) ? new RetryLaterError(task, jobs, 0, error) : error
    if (later instanceof RetryLaterError) {
      const isOverShare = later instanceof OverShareError
      metrics.jobs.inc({ task, outcome: 'put_off' })
      const level = isOverShare ? 'debug' : levelOf(error)
      log[level]({ task, tries, ...about, err: later.cause }, 'job put off')
      const pauseMs = Math.max(
        1000 * later.retryAfterSeconds,
        timings.backOffMs * backOffFactor(tries),
      )
      const reason = reasonOf(later.cause)
      const putOff = { jobs: later.jobs, since, tries: tries + 1, reason, isOverShare }
      await add(later.task, putOff, { pauseMs })
      return addNextPage(pauseMs)
    }
    if (signal.aborted) return add(task, batch)
    if (jobs.length === 1) throw withSafeMessage(error)
    return split()
  }
  await addNextPage()
}

type JobEnding = { signal: AbortSignal; timings: Timings }

/**
 * Runs work that ends by its signal: when its time is over, or with the process. If it ignores
 * that, it is not waited for any longer, so that it takes the place of no other job for ever.
 */
const runWithDeadline = (
  { signal, timings }: JobEnding,
  work: (signal: AbortSignal) => Promise<void>,
) =>
  withTimeout(timings.jobMs, signal, async (signal) => {
    const ignored = async () => {
      if (!signal.aborted) await once(signal, 'abort')
      await setTimeout(timings.graceMs, undefined, { ref: false })
      throw new Error('not done in time')
    }
    await Promise.race([work(signal), ignored()])
  })

const traceContextsOf = (jobs: QueuedJob[]) => [
  ...new Set(jobs.flatMap((job) => ('trace' in job && job.trace) || [])),
]
const tracesOf = (jobs: QueuedJob[]) => [...new Set(traceContextsOf(jobs).map(traceIdOf))]

const reasonOf = (cause: unknown) =>
  (cause instanceof Error ? safeMessage(cause) : String(cause)).slice(0, 300)

/** The queue stores the message, and operators read it: it quotes no row. */
const withSafeMessage = (error: unknown) => {
  if (!(error instanceof Error) || safeMessage(error) === error.message) return error
  return new Error(safeMessage(error), { cause: error })
}

/**
 * Repeats `store`, after growing pauses, until the database has accepted it; not once the process
 * ends.
 */
async function untilStored(store: () => Promise<void>, { signal, timings }: JobEnding) {
  for (let tries = 1; ; tries++) {
    try {
      return await store()
    } catch (error) {
      if (signal.aborted || tries === MAX_STORE_TRIES)
        throw isQueueUnavailable(error) ? new NotStoredError(error) : error
      await setTimeout(timings.backOffMs * 2 ** tries, undefined, { signal }).catch(() => {})
    }
  }
}

type AddedBatch = { task: QueuedTask; batch: JobBatch; pauseMs: number; round: number }

/**
 * Enqueues a batch, in the same named queue as the job that is running. The pause begins now: that
 * job may have waited for a worker since it was taken from the database.
 */
async function addBatch(helpers: JobHelpers, { task, batch, pauseMs, round }: AddedBatch) {
  const queueName = await helpers.getQueueName()
  await helpers.query(
    `select
    from add_job(
      $1, $2::json,
      queue_name => $3,
      run_at => now() + $4 * interval '1 millisecond',
      max_attempts => $5,
      priority => $6
    )`,
    [task, JSON.stringify(batch), queueName, pauseMs, MAX_ATTEMPTS, round],
  )
}

/** 1, 2, 4 … 600, each with up to a quarter more at random, so that retries spread out. */
const backOffFactor = (tries: number) => Math.min(2 ** tries, 600) * (1 + Math.random() / 4)
