import { createGuardedRequest, type GuardOptions } from '../../core/guarded-request.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import type { Timings } from '../timings.ts'
import { createCollector } from './collect.ts'
import { deliverDue } from './deliver.ts'
import { type Lease, leaseWebhooks, releaseWebhook } from './leases.ts'

export type WebhooksOptions = {
  db: Db
  metrics: Metrics
  webhooks: GuardOptions
  timings: Timings
  log: Log
}

/**
 * How many webhooks are served at once. Those that fail, and may take long about it, have places of
 * their own, so that they keep no others waiting.
 */
const AT_ONCE = 16

/**
 * Sends the events of apps to their webhooks. Several processes may: each takes webhooks that no
 * other has. Returns a function that stops this; what was being sent then is sent again later.
 */
export function startWebhooks({ db, metrics, webhooks, timings, log }: WebhooksOptions) {
  const stopping = new AbortController()
  const { signal } = stopping
  const collect = createCollector({ db, timings, signal })
  const request = createGuardedRequest(webhooks)
  const context = { db, request, timings, metrics, log, signal }
  const lanes = [false, true].map((isFailing) => ({ isFailing, running: new Set<Promise<void>>() }))
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined
  let isWanted = false

  const serve = async (lease: Lease) => {
    try {
      isWanted = (await deliverDue(context, lease)) || isWanted
      await releaseWebhook(db, lease)
    } catch (error) {
      if (signal.aborted) await releaseWebhook(db, lease).catch(() => {})
      else log.warn({ err: error, webhookId: lease.id }, 'webhook interrupted, will retry')
    }
  }
  const startServing = async () => {
    for (const { isFailing, running } of lanes) {
      const most = AT_ONCE - running.size
      if (most === 0) continue
      const leases = await leaseWebhooks(db, { isFailing, most, leaseMs: timings.webhookLeaseMs })
      for (const lease of leases) {
        const serving = serve(lease).then(() => {
          running.delete(serving)
          if (isWanted && !current) schedule(0)
        })
        running.add(serving)
      }
    }
  }
  const pass = async () => {
    isWanted = false
    try {
      const { areWanted } = await collect()
      if (areWanted && !signal.aborted) await startServing()
    } catch (error) {
      log.warn({ err: error }, 'collecting events for webhooks failed, will retry')
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

  // A counter that begins with the first webhook that is disabled shows no increase.
  for (const reason of ['failing', 'gone']) metrics.webhooksDisabled.inc({ reason }, 0)
  run()
  return async () => {
    stopping.abort()
    clearTimeout(timer)
    await current
    await Promise.all(lanes.flatMap(({ running }) => [...running]))
  }
}
