import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { createGuardedRequest, type GuardOptions } from '../../core/guarded-request.ts'
import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import { type Db, isOutage } from '../../db/client.ts'
import { levelOf } from '../log.ts'
import type { Timings } from '../timings.ts'
import { createCollector } from './collect.ts'
import { type DeliverContext, deliverDue, MOST_REST } from './deliver.ts'
import { type Lease, leaseWebhooks, releaseWebhook } from './leases.ts'
import { createReplays } from './replay.ts'

export type WebhooksOptions = {
  db: Db
  metrics: Metrics
  webhooks: GuardOptions
  timings: Timings
  log: Log
}

/**
 * How many webhooks are served at once. Failing ones, which may be slow, have as many places of
 * their own, so that they delay no others; and an app has a share of either.
 */
const AT_ONCE = 40

/**
 * Sends the events of apps to their webhooks. Several processes may do so at once, since each
 * leases the webhooks that it serves. Returns a function that stops this; interrupted deliveries
 * are sent again later.
 */
export function startWebhooks({ db, metrics, webhooks, timings, log }: WebhooksOptions) {
  const stopping = new AbortController()
  const { signal } = stopping
  // Each request adds a listener to it.
  setMaxListeners(0, signal)
  const collector = createCollector({ db, timings, signal })
  const request = createGuardedRequest(webhooks)
  const serving = createServing(
    { db, request, timings, metrics, log, signal, replays: createReplays() },
    {
      onDelivered: () => (isWanted = true),
      onServed: () => {
        if (isWanted && !current) schedule(0)
      },
    },
  )
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined
  let isWanted = false

  const pass = async () => {
    isWanted = false
    try {
      const { areWanted } = await collector.collect()
      if (areWanted && !signal.aborted) await serving.start()
    } catch (error) {
      log[levelOf(error)]({ err: error }, 'collecting events for webhooks failed, will retry')
    }
  }
  const schedule = (milliseconds: number) => {
    clearTimeout(timer)
    if (!signal.aborted) timer = setTimeout(run, milliseconds)
  }
  const run = () => {
    current = pass().then(() => {
      current = undefined
      schedule(isWanted ? 0 : timings.pollMs)
    })
  }

  // From 0: a counter that first appears at 1 shows no increase.
  for (const reason of ['failing', 'gone']) metrics.webhooksDisabled.inc({ reason }, 0)
  run()
  return async () => {
    stopping.abort()
    clearTimeout(timer)
    await current
    // If this fails, the turn ends by itself.
    await Promise.all([collector.leave().catch(() => {}), serving.ended()])
  }
}

type ServingOptions = {
  /** Called when something was sent: the webhook may have more. */
  onDelivered: () => void
  /** Called when a webhook's turn is over, so another can be served. */
  onServed: () => void
}

/** Serves leased webhooks, working and failing ones in separate pools. */
function createServing(context: DeliverContext, { onDelivered, onServed }: ServingOptions) {
  const { db, timings, log, signal } = context
  const newPool = (isFailing: boolean) => ({ isFailing, running: new Map<Lease, Promise<void>>() })
  const pools = [newPool(false), newPool(true)]

  /** How long the lease of each webhook is kept after the next outage that interrupts it. */
  const pauses = new Map<string, number>()

  const serve = async (lease: Lease) => {
    try {
      const { wereDue, restMs } = await deliverDue(context, lease)
      if (wereDue) onDelivered()
      await releaseWebhook(db, lease, restMs)
      pauses.delete(lease.id)
    } catch (error) {
      if (signal.aborted) return void (await tryRelease(lease))
      log[levelOf(error)]({ err: error, webhookId: lease.id }, 'webhook interrupted, will retry')
      // Any other failure may repeat at once, so the webhook rests until its lease ends.
      if (isOutage(error)) await releaseAfterOutage(lease)
    }
  }
  const tryRelease = (lease: Lease) =>
    releaseWebhook(db, lease).then(
      () => true,
      () => false,
    )
  /**
   * Releases the webhook once the database answers. If that answers but stores nothing, as with a
   * full disk, each poll would send the same deliveries again. So the pause before doubles, until a
   * turn has worked.
   */
  const releaseAfterOutage = async (lease: Lease) => {
    const leaseEnds = performance.now() + timings.webhookLeaseMs
    let pauseMs = pauses.get(lease.id) ?? timings.pollMs
    pauses.set(lease.id, Math.min(2 * pauseMs, timings.webhookLeaseMs))
    do {
      await pause(pauseMs, undefined, { signal }).catch(() => {})
      if (await tryRelease(lease)) return
      pauseMs = timings.pollMs
    } while (!signal.aborted && performance.now() < leaseEnds)
  }
  return {
    start: async () => {
      for (const { isFailing, running } of pools) {
        const most = AT_ONCE - running.size
        if (most === 0) continue
        const leases = await leaseWebhooks(db, {
          isFailing,
          most,
          leaseMs: timings.webhookLeaseMs,
          restMs: MOST_REST * timings.pollMs,
          served: [...running.keys()].map(({ appId }) => appId),
        })
        for (const lease of leases) {
          const serving = serve(lease).then(() => {
            running.delete(lease)
            onServed()
          })
          running.set(lease, serving)
        }
      }
    },
    /** Resolves when the turns that have begun are over. */
    ended: () => Promise.all(pools.flatMap(({ running }) => [...running.values()])),
  }
}
