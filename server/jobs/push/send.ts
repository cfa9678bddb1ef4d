import type { Metrics } from '../../core/metrics.ts'
import type { Log } from '../log.ts'
import { RetryLaterError } from '../tasks.ts'
import type { PushEvent } from './events.ts'
import { MAX_EVENTS_PER_CALL, type Provider } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

type SendContext = { signal: AbortSignal; metrics: Metrics; log: Log }

/**
 * Sends pushes, MAX_EVENTS_PER_CALL at a time. While the provider is unavailable the remaining
 * pushes are put off. Pushes that it refuses are given up.
 */
export async function sendAll(provider: Provider, events: PushEvent[], context: SendContext) {
  for (let start = 0; start < events.length; start += MAX_EVENTS_PER_CALL) {
    try {
      await sendBatch(provider, events.slice(start, start + MAX_EVENTS_PER_CALL), context)
    } catch (error) {
      const [first, ...others] = events.slice(start)
      if (!(error instanceof ProviderUnavailableError) || !first) throw error
      context.metrics.pushes.inc({ outcome: 'put_off' }, others.length + 1)
      throw new RetryLaterError('push-event', [first, ...others], error.retryAfterSeconds, error)
    }
  }
}

/** Halves a batch that is refused for its content, until only the invalid pushes are given up. */
async function sendBatch(
  provider: Provider,
  events: PushEvent[],
  context: SendContext,
): Promise<void> {
  const [first, ...others] = events
  if (!first) return
  try {
    await provider.trigger([first, ...others], context.signal)
    context.metrics.pushes.inc({ outcome: 'accepted' }, events.length)
  } catch (error) {
    if (!(error instanceof ProviderRefusedError)) throw error
    const isContentRefused = error.status === 400 || error.status === 422
    if (others.length === 0 || !isContentRefused) {
      context.metrics.pushes.inc({ outcome: 'refused' }, events.length)
      const { transactionId } = first
      context.log.error({ err: error, pushes: events.length, transactionId }, 'push refused')
      return
    }
    const half = Math.ceil(events.length / 2)
    await sendBatch(provider, events.slice(0, half), context)
    await sendBatch(provider, events.slice(half), context)
  }
}
