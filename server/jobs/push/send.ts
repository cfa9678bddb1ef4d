import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import { jobTraces } from '../job-trace.ts'
import { messagesOf, type NonEmpty, type QueuedJob, RetryLaterError } from '../tasks.ts'
import type { PushEvent, PushTask } from './events.ts'
import type { PushOutcome } from './outcomes.ts'
import { MAX_EVENTS_PER_CALL, type Provider } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

/** How to make pushes of a task again: by its job, for only these users. */
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

/** A push and its outcome. */
type SentPush<T extends PushTask> = PushOutcome & { event: PushEvent<T> }

/**
 * Sends pushes, MAX_EVENTS_PER_CALL at a time. Those that the provider had trouble with are put
 * off, and while it is unavailable so are all that remain. A call that it refuses is made again in
 * halves, until only the invalid pushes are given up. What is stored of either are the jobs that
 * make them again: they have no texts, and what was deleted meanwhile is not pushed.
 */
export async function sendAll<T extends PushTask>(
  provider: Provider,
  events: PushEvent<T>[],
  context: SendContext<T>,
) {
  const calls = callsOf(events)
  const untaken: PushEvent<T>[] = []
  let trouble: ProviderUnavailableError | undefined
  for (let call = calls.shift(); call; call = calls.shift()) {
    try {
      const outcomes = await trigger(provider, call, context.signal)
      if (!outcomes) calls.unshift(...halvesOf(call))
      else
        for (const { event, reason } of await settle(pair(call, outcomes), context)) {
          untaken.push(event)
          trouble ??= new ProviderUnavailableError(`the provider did not take a push: ${reason}`)
        }
    } catch (error) {
      if (!(error instanceof ProviderUnavailableError)) throw error
      untaken.push(...call, ...calls.flat())
      trouble = error
      break
    }
  }
  const [first, ...others] = jobsOf(untaken, context)
  if (!first || !trouble) return
  context.metrics.pushes.inc({ outcome: 'put_off' }, untaken.length)
  throw new RetryLaterError(context.task, [first, ...others], trouble.retryAfterSeconds, trouble)
}

const callsOf = <E>(events: E[]) =>
  Array.from({ length: Math.ceil(events.length / MAX_EVENTS_PER_CALL) }, (_, index) =>
    events.slice(index * MAX_EVENTS_PER_CALL, (index + 1) * MAX_EVENTS_PER_CALL),
  )

function halvesOf<E>(events: E[]) {
  const half = Math.ceil(events.length / 2)
  return [events.slice(0, half), events.slice(half)]
}

/** The outcomes of a call; undefined if the content of one of its pushes is refused. */
async function trigger(provider: Provider, events: PushEvent[], signal: AbortSignal) {
  try {
    return await provider.trigger(events, signal)
  } catch (error) {
    if (!(error instanceof ProviderRefusedError)) throw error
    const refused: PushOutcome = { result: 'refused', reason: error.message }
    return events.length === 1 ? [refused] : undefined
  }
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

const pair = <T extends PushTask>(events: PushEvent<T>[], outcomes: PushOutcome[]): SentPush<T>[] =>
  outcomes.flatMap((outcome, index) => {
    const event = events[index]
    return event ? [{ ...outcome, event }] : []
  })

type RefusedPushes<T extends PushTask> = {
  workflow: string
  reason: string
  pushes: NonEmpty<PushEvent<T>>
}

/**
 * Counts pushes by outcome, logs and keeps refusals once for each workflow and reason, and returns
 * the pushes that the provider had trouble with.
 */
async function settle<T extends PushTask>(sent: SentPush<T>[], context: SendContext<T>) {
  const { metrics, log, keepRefused } = context
  metrics.pushes.inc(
    { outcome: 'accepted' },
    sent.filter(({ result }) => result === 'accepted').length,
  )
  const refusals = new Map<string, RefusedPushes<T>>()
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
    const messages = messagesOf(pushes.map(({ job }) => job))
    const facts = { ...refusal, pushes: pushes.length, transactionId, traces, messages }
    log.error(facts, 'push refused')
    await keepRefused(jobsOf(pushes, context), `refused: ${refusal.reason}`)
  }
  return sent.filter(({ result }) => result === 'unavailable')
}
