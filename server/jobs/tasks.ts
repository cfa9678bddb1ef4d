import type { JobHelpers } from 'graphile-worker'
import { ApiError } from '../core/errors.ts'
import type { Job, Task } from '../core/jobs.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Log } from './log.ts'
import type { PushEvent } from './push/events.ts'
import type { Timings } from './timings.ts'

/** What there is to do, by task: what transactions promise, and pushes to be tried again. */
export type Works = { [T in Task]: Job<T> } & { 'push-event': PushEvent }
export type WorkTask = keyof Works
type AtLeastOne<T> = [T, ...T[]]
/** `goOn` says what is to be done next, as a job of its own, once this one is done or put off. */
type Context<T extends WorkTask> = { signal: AbortSignal; goOn: (jobs: Works[T][]) => void }
export type Handlers = {
  [T in WorkTask]: (jobs: AtLeastOne<Works[T]>, context: Context<T>) => Promise<void>
}

type Setting = {
  /** Queues do not wait for each other. */
  queue: 'previews' | 'push'
  /** So many promises make one job. */
  atOnce: number
  /** Older promises are not worth keeping. */
  keptSeconds: number
}
const HOUR = 3_600
export const settings: Record<WorkTask, Setting> = {
  preview: { queue: 'previews', atOnce: 1, keptSeconds: 24 * HOUR },
  'push-message': { queue: 'push', atOnce: 100, keptSeconds: HOUR },
  'push-reaction': { queue: 'push', atOnce: 50, keptSeconds: HOUR },
  'push-invite': { queue: 'push', atOnce: 1, keptSeconds: HOUR },
  'push-event': { queue: 'push', atOnce: 100, keptSeconds: HOUR },
  subscriber: { queue: 'push', atOnce: 1, keptSeconds: 24 * HOUR },
  device: { queue: 'push', atOnce: 1, keptSeconds: 24 * HOUR },
}
/** So often a job may fail for a fault of ours, or be cut off by the end of its process. */
export const MAX_ATTEMPTS = 5

/** A job as it waits in the queue. */
export type Stored<T extends WorkTask = WorkTask> = {
  jobs: AtLeastOne<Works[T]>
  since: string
  tries: number
}

/** Others are out of reach or busy: what is left is to be done later, and this is no fault. */
export class RetryLaterError<T extends WorkTask = WorkTask> extends Error {
  constructor(
    readonly task: T,
    readonly jobs: AtLeastOne<Works[T]>,
    readonly retryAfterSeconds: number,
    cause: unknown,
  ) {
    super('to be done later', { cause })
  }
}

type Doing<T extends WorkTask> = {
  handler: Handlers[T]
  stored: Stored<T>
  helpers: JobHelpers
  timings: Timings
  metrics: Metrics
  log: Log
}

/** Carries out one job of the queue. What its message or user no longer needs is done; what meets a fault, or is too much at once, is tried alone. */
export async function carryOut<T extends WorkTask>(
  task: T,
  { handler, stored, helpers, timings, metrics, log }: Doing<T>,
): Promise<void> {
  const { jobs, since, tries } = stored
  const ageSeconds = (Date.now() - Date.parse(since)) / 1000
  if (ageSeconds > settings[task].keptSeconds) {
    metrics.jobs.inc({ task, outcome: 'given_up' })
    return log.error({ task, tries, since }, 'job given up: too old')
  }
  const addAgain = async (task: WorkTask, again: Stored, runAt = new Date()) => {
    const queueName = await helpers.getQueueName()
    await helpers.addJob(task, again, {
      runAt,
      maxAttempts: MAX_ATTEMPTS,
      ...(queueName === null ? {} : { queueName }),
    })
  }
  let rest: Works[T][] = []
  const addRest = async (runAt?: Date) => {
    const [first, ...others] = rest
    if (first) await addAgain(task, { jobs: [first, ...others], since, tries }, runAt)
  }
  try {
    await handler(jobs, { signal: helpers.abortSignal, goOn: (jobs) => (rest = jobs) })
    await addRest()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') return
    if (error instanceof RetryLaterError) {
      metrics.jobs.inc({ task, outcome: 'put_off' })
      log.warn({ task, tries, err: error.cause }, 'job put off')
      const runAt = new Date(
        Date.now() + Math.max(1000 * error.retryAfterSeconds, timings.backOffMs * backOff(tries)),
      )
      await addAgain(error.task, { jobs: error.jobs, since, tries: tries + 1 }, runAt)
      return addRest(runAt)
    }
    if (jobs.length === 1) throw error
    for (const job of jobs) await addAgain(task, { jobs: [job], since, tries })
  }
}

/** 1, 2, 4 … 60 times the first pause, a little apart from each other. */
const backOff = (tries: number) => Math.min(2 ** tries, 60) * (1 + Math.random() / 4)
