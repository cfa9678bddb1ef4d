import type { Metrics } from '../../core/metrics.ts'
import { jobTraces } from '../job-trace.ts'
import type { Log } from '../log.ts'
import { type NonEmpty, type QueuedJob, RetryLaterError } from '../tasks.ts'
import type { PushEvent, PushTask } from './events.ts'
import type { PushOutcome } from './outcomes.ts'
import { MAX_EVENTS_PER_CALL, type Provider } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

/** How pushes of a task are made again: by the job of theirs, for only these users. */
export type Remaking<T extends PushTask> = {
  task: T
  only: (job: QueuedJob<T>, userIds: string[]) => QueuedJob<T>
}
type SendContext<T extends PushTask> = Remaking<T> & {
  signal: AbortSignal
  metrics: Metrics
  log: Log
  /** Keeps the jobs of pushes that were refused for the operator, who may retry them. */
  keepRefused: (jobs: QueuedJob<T>[], reason: string) => Promise<void>
}

/** A push with what became of it. */
type Sent<T extends PushTask> = PushOutcome & { event: PushEvent<T> }

/**
 * Sends pushes, MAX_EVENTS_PER_CALL at a time. Those that the provider had trouble with are put
 * off, and while it is unavailable so are all that remain. Those that it refuses are given up. What
 * is stored of either are the jobs that make them again: they have no texts, and what was deleted
 * meanwhile is not pushed.
 */
export async function sendAll<T extends PushTask>(
  provider: Provider,
  events: PushEvent<T>[],
  context: SendContext<T>,
) {
  const untaken: PushEvent<T>[] = []
  let trouble: ProviderUnavailableError | undefined
  for (let start = 0; start < events.length; start += MAX_EVENTS_PER_CALL) {
    try {
      const batch = events.slice(start, start + MAX_EVENTS_PER_CALL)
      for (const { event, reason } of await sendBatch(provider, batch, context)) {
        untaken.push(event)
        trouble ??= new ProviderUnavailableError(`the provider did not take a push: ${reason}`)
      }
    } catch (error) {
      if (!(error instanceof ProviderUnavailableError)) throw error
      untaken.push(...events.slice(start))
      trouble = error
      break
    }
  }
  const [first, ...others] = jobsOf(untaken, context)
  if (!first || !trouble) return
  context.metrics.pushes.inc({ outcome: 'put_off' }, untaken.length)
  throw new RetryLaterError(context.task, [first, ...others], trouble.retryAfterSeconds, trouble)
}

/** The jobs that make these pushes again. */
function jobsOf<T extends PushTask>(events: PushEvent<T>[], { only }: Pick<Remaking<T>, 'only'>) {
  const users = new Map<QueuedJob<T>, string[]>()
  for (const { job, userId } of events) {
    const userIds = users.get(job)
    if (userIds) userIds.push(userId)
    else users.set(job, [userId])
  }
  return [...users].map(([job, userIds]) => only(job, userIds))
}

/**
 * Sends one batch, and returns the pushes that the provider could not take because of a problem of
 * its own. Halves a batch that is refused, until only the invalid pushes are given up.
 */
async function sendBatch<T extends PushTask>(
  provider: Provider,
  events: PushEvent<T>[],
  context: SendContext<T>,
): Promise<Sent<T>[]> {
  try {
    const outcomes = await provider.trigger(events, context.signal)
    return settle(pair(events, outcomes), context)
  } catch (error) {
    if (!(error instanceof ProviderRefusedError)) throw error
    if (events.length === 1)
      return settle(pair(events, [{ result: 'refused', reason: error.message }]), context)
    const half = Math.ceil(events.length / 2)
    return [
      ...(await sendBatch(provider, events.slice(0, half), context)),
      ...(await sendBatch(provider, events.slice(half), context)),
    ]
  }
}

const pair = <T extends PushTask>(events: PushEvent<T>[], outcomes: PushOutcome[]): Sent<T>[] =>
  outcomes.flatMap((outcome, index) => {
    const event = events[index]
    return event ? [{ ...outcome, event }] : []
  })

type Refusal<T extends PushTask> = {
  workflow: string
  reason: string
  pushes: NonEmpty<PushEvent<T>>
}

/**
 * Counts pushes by outcome, logs and keeps refusals once a workflow and reason, and returns the
 * untaken.
 */
async function settle<T extends PushTask>(sent: Sent<T>[], context: SendContext<T>) {
  const { metrics, log, keepRefused } = context
  metrics.pushes.inc(
    { outcome: 'accepted' },
    sent.filter(({ result }) => result === 'accepted').length,
  )
  const refusals = new Map<string, Refusal<T>>()
  for (const { result, reason, event } of sent) {
    if (result !== 'refused') continue
    const key = `${event.name}: ${reason}`
    const refusal = refusals.get(key)
    if (refusal) refusal.pushes.push(event)
    else refusals.set(key, { workflow: event.name, reason, pushes: [event] })
  }
  for (const { pushes, ...refusal } of refusals.values()) {
    metrics.pushes.inc({ outcome: 'refused' }, pushes.length)
    const { transactionId } = pushes[0]
    const traces = jobTraces.getStore()
    log.error({ ...refusal, pushes: pushes.length, transactionId, traces }, 'push refused')
    await keepRefused(jobsOf(pushes, context), `refused: ${refusal.reason}`)
  }
  return sent.filter(({ result }) => result === 'unavailable')
}
