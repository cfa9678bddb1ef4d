import type { Metrics } from '../../core/metrics.ts'
import { jobTraces } from '../job-trace.ts'
import type { Log } from '../log.ts'
import { type NonEmpty, RetryLaterError } from '../tasks.ts'
import type { PushEvent } from './events.ts'
import type { PushOutcome } from './outcomes.ts'
import { MAX_EVENTS_PER_CALL, type Provider } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

type SendContext = {
  signal: AbortSignal
  metrics: Metrics
  log: Log
  /** Keeps pushes that were refused for the operator, who may send them again. */
  keepRefused: (events: NonEmpty<PushEvent>, reason: string) => Promise<void>
}

/** A push with what became of it. */
type Sent = PushOutcome & { event: PushEvent }

/**
 * Sends pushes, MAX_EVENTS_PER_CALL at a time. Those that the provider had trouble with are put
 * off, and while it is unavailable so are all that remain. Those that it refuses are given up.
 */
export async function sendAll(provider: Provider, events: PushEvent[], context: SendContext) {
  const untaken: PushEvent[] = []
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
  const [first, ...others] = untaken
  if (!first || !trouble) return
  context.metrics.pushes.inc({ outcome: 'put_off' }, untaken.length)
  throw new RetryLaterError('push-event', [first, ...others], trouble.retryAfterSeconds, trouble)
}

/**
 * Sends one batch, and returns the pushes that the provider could not take because of a problem of
 * its own. Halves a batch that is refused, until only the invalid pushes are given up.
 */
async function sendBatch(
  provider: Provider,
  events: PushEvent[],
  context: SendContext,
): Promise<Sent[]> {
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

const pair = (events: PushEvent[], outcomes: PushOutcome[]): Sent[] =>
  outcomes.flatMap((outcome, index) => {
    const event = events[index]
    return event ? [{ ...outcome, event }] : []
  })

type Refusal = { workflow: string; reason: string; pushes: NonEmpty<PushEvent> }

/**
 * Counts pushes by outcome, logs and keeps refusals once a workflow and reason, and returns the
 * untaken.
 */
async function settle(sent: Sent[], { metrics, log, keepRefused }: SendContext) {
  metrics.pushes.inc(
    { outcome: 'accepted' },
    sent.filter(({ result }) => result === 'accepted').length,
  )
  const refusals = new Map<string, Refusal>()
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
    await keepRefused(pushes, `refused: ${refusal.reason}`)
  }
  return sent.filter(({ result }) => result === 'unavailable')
}
