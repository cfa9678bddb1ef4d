import { type Job, MAX_ATTEMPTS, type Task } from '../core/jobs.ts'

/**
 * A push with its texts, as versions up to 0.1.0 stored it to send it again. It is made again by
 * its ids.
 */
type EarlierPush = {
  appId: string
  name: string
  to: string
  payload: Record<string, string>
  transactionId: string
}
/** Every job by its task: those that transactions stage, and pushes of an earlier version. */
type QueuedJobs = { [T in Task]: Job<T> } & { 'push-event': EarlierPush }
export type QueuedTask = keyof QueuedJobs
export type QueuedJob<T extends QueuedTask = QueuedTask> = QueuedJobs[T]

export type NonEmpty<T> = [T, ...T[]]

/**
 * One job of graphile-worker: a batch of ours, with its age and its retries.
 */
export type JobBatch<T extends QueuedTask = QueuedTask> = {
  jobs: NonEmpty<QueuedJob<T>>
  since: string
  tries: number
  /** Why it was put off, the last time. */
  reason?: string | undefined
  /** Whether that was a share of ours: then the job is dropped once it is too old. */
  isOverShare?: boolean
  /** How often the job had failed or was put off, if it was given up. */
  attempts?: number
}

export type HandlerContext<T extends QueuedTask> = {
  signal: AbortSignal
  /** When the job was taken from the queue, by the database's clock. */
  takenAt: Date
  /** Enqueues the next page as a separate job, once this job is done or put off. */
  continueWith: (jobs: QueuedJob<T>[]) => void
  /** Keeps jobs that are given up for the operator, who may retry them. */
  giveUp: <G extends QueuedTask>(
    task: G,
    jobs: NonEmpty<QueuedJob<G>>,
    reason: string,
  ) => Promise<void>
}
export type Handlers = {
  [T in QueuedTask]: (jobs: NonEmpty<QueuedJob<T>>, context: HandlerContext<T>) => Promise<void>
}

export type QueueName = 'previews' | 'push' | 'subscribers'
type TaskSettings = {
  /** Queues run side by side: a slow one does not delay the other. */
  queue: QueueName
  /** How many staged jobs become one job of the queue. */
  batchSize: number
  /** The age at which a job is given up. */
  maxAgeSeconds: number
}
const HOUR = 3_600
/** A push says that something has just happened. After this time it says nothing of use. */
const PUSH_USEFUL = 6 * HOUR
export const taskSettings: Record<QueuedTask, TaskSettings> = {
  preview: { queue: 'previews', batchSize: 1, maxAgeSeconds: 24 * HOUR },
  'push-message': { queue: 'push', batchSize: 100, maxAgeSeconds: PUSH_USEFUL },
  'push-reaction': { queue: 'push', batchSize: 50, maxAgeSeconds: PUSH_USEFUL },
  'push-invite': { queue: 'push', batchSize: 1, maxAgeSeconds: PUSH_USEFUL },
  'push-event': { queue: 'push', batchSize: 100, maxAgeSeconds: PUSH_USEFUL },
  subscriber: { queue: 'subscribers', batchSize: 1, maxAgeSeconds: 24 * HOUR },
  'subscriber-removal': {
    queue: 'subscribers',
    batchSize: 1,
    maxAgeSeconds: Number.POSITIVE_INFINITY,
  },
  device: { queue: 'subscribers', batchSize: 1, maxAgeSeconds: 24 * HOUR },
}

/** The messages that jobs are about: operators look for these in the log. */
export const messagesOf = (jobs: QueuedJob[]) => [
  ...new Set(jobs.flatMap((job) => ('messageId' in job ? job.messageId : []))),
]

/** How many deaths of its workers a job survives. It is given up at the next one. */
export const MAX_DEATHS = 20

/**
 * How many deaths of its workers a job has survived. graphile-worker counts an attempt when it
 * takes a job; each death therefore raises the number of attempts that the job has, by one.
 */
export const survivedDeaths = (maxAttempts: number) => maxAttempts - MAX_ATTEMPTS

/** The database did not store what becomes of a job. This is not a failure of the job. */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError'
  constructor(cause: unknown) {
    super('not stored', { cause })
  }
}

/** A third party is unavailable or busy. The remaining jobs are put off; this is not a failure. */
export class RetryLaterError<T extends QueuedTask = QueuedTask> extends Error {
  override readonly name: string = 'RetryLaterError'
  constructor(
    readonly task: T,
    readonly jobs: NonEmpty<QueuedJob<T>>,
    readonly retryAfterSeconds: number,
    cause: unknown,
  ) {
    super('retry later', { cause })
  }
}

/** The job is over the share of its user or host. Users can cause that, so no alert counts it. */
export class OverShareError extends RetryLaterError {
  override readonly name = 'OverShareError'
}
