import type { Metrics } from '../../core/metrics.ts'
import type { Log } from '../log.ts'
import { RetryLaterError } from '../tasks.ts'
import type { PushEvent } from './events.ts'
import {
  EVENTS_A_CALL,
  type Provider,
  ProviderRefusedError,
  ProviderUnavailableError,
} from './provider.ts'

type Context = { signal: AbortSignal; metrics: Metrics; log: Log }

/** Tells the provider, a hundred at a time. What it can not take now is left for later, what it refuses is given up. */
export async function sendAll(provider: Provider, events: PushEvent[], context: Context) {
  for (let start = 0; start < events.length; start += EVENTS_A_CALL) {
    try {
      await sendPortion(provider, events.slice(start, start + EVENTS_A_CALL), context)
    } catch (error) {
      const [first, ...others] = events.slice(start)
      if (!(error instanceof ProviderUnavailableError) || !first) throw error
      context.metrics.pushes.inc({ outcome: 'put_off' }, others.length + 1)
      throw new RetryLaterError('push-event', [first, ...others], error.retryAfterSeconds, error)
    }
  }
}

/** A portion that is refused for its content is halved, until only what is wrong with it is given up. */
async function sendPortion(
  provider: Provider,
  events: PushEvent[],
  context: Context,
): Promise<void> {
  const [first, ...others] = events
  if (!first) return
  try {
    await provider.trigger([first, ...others], context.signal)
    context.metrics.pushes.inc({ outcome: 'accepted' }, events.length)
  } catch (error) {
    if (!(error instanceof ProviderRefusedError)) throw error
    const isContent = error.status === 400 || error.status === 422
    if (others.length === 0 || !isContent) {
      context.metrics.pushes.inc({ outcome: 'refused' }, events.length)
      return context.log.error(
        { err: error, pushes: events.length, transactionId: first.transactionId },
        'push refused',
      )
    }
    const half = Math.ceil(events.length / 2)
    await sendPortion(provider, events.slice(0, half), context)
    await sendPortion(provider, events.slice(half), context)
  }
}
