import type { Job, Task } from '../core/jobs.ts'
import type { PushEvent } from './push/events.ts'

/** Every job by its task: those that transactions stage, and pushes to send again. */
type QueuedJobs = { [T in Task]: Job<T> } & { 'push-event': PushEvent }
export type QueuedTask = keyof QueuedJobs
export type QueuedJob<T extends QueuedTask = QueuedTask> = QueuedJobs[T]

type NonEmpty<T> = [T, ...T[]]

/**
 * What graphile-worker stores as one of its jobs: a batch of ours, with its age and its retries.
 */
export type Batch<T extends QueuedTask = QueuedTask> = {
  jobs: NonEmpty<QueuedJob<T>>
  since: string
  tries: number
}

type HandlerContext<T extends QueuedTask> = {
  signal: AbortSignal
  /** Enqueues the next page as a separate job, once this job is done or put off. */
  continueWith: (jobs: QueuedJob<T>[]) => void
}
export type Handlers = {
  [T in QueuedTask]: (jobs: NonEmpty<QueuedJob<T>>, context: HandlerContext<T>) => Promise<void>
}

type TaskSettings = {
  /** Queues run side by side: a slow one does not delay the other. */
  queue: 'previews' | 'push'
  /** How many staged jobs become one job of the queue. */
  batchSize: number
  /** The age at which a job is given up. */
  maxAgeSeconds: number
}
const HOUR = 3_600
export const taskSettings: Record<QueuedTask, TaskSettings> = {
  preview: { queue: 'previews', batchSize: 1, maxAgeSeconds: 24 * HOUR },
  'push-message': { queue: 'push', batchSize: 100, maxAgeSeconds: HOUR },
  'push-reaction': { queue: 'push', batchSize: 50, maxAgeSeconds: HOUR },
  'push-invite': { queue: 'push', batchSize: 1, maxAgeSeconds: HOUR },
  'push-event': { queue: 'push', batchSize: 100, maxAgeSeconds: HOUR },
  subscriber: { queue: 'push', batchSize: 1, maxAgeSeconds: 24 * HOUR },
  device: { queue: 'push', batchSize: 1, maxAgeSeconds: 24 * HOUR },
}

/** How often a job may fail because of a bug, or be interrupted because its process ends. */
export const MAX_ATTEMPTS = 5

/** A third party is unavailable or busy. The remaining jobs are put off; this is not a failure. */
export class RetryLaterError<T extends QueuedTask = QueuedTask> extends Error {
  override readonly name = 'RetryLaterError'
  constructor(
    readonly task: T,
    readonly jobs: NonEmpty<QueuedJob<T>>,
    readonly retryAfterSeconds: number,
    cause: unknown,
  ) {
    super('retry later', { cause })
  }
}
