import { type Db, DeadlineError } from '../db/client.ts'
import { createGauges } from './database-gauges.ts'
import type { Metrics } from './metrics.ts'
import { serviceCounts } from './service-counts.ts'
import { valueWithin } from './with-timeout.ts'

/**
 * How long the database has to answer, less than operations give it: a silent one is to be shown as
 * down before the collector of the metrics gives up.
 */
export const DATABASE_ANSWER_MS = 1_800

/** The most rows that a count looks at. If there are more, it reports this number. */
const MOST_ROWS = 50_000

type DatabaseMetricsOptions = {
  db: Db
  poolSize: number
  isReporter: () => Promise<boolean>
  mostRows?: number
}

/**
 * The metrics that are read from the database. Returns a function that updates them. Metrics of the
 * whole service are shown by one of its processes, so that a sum over all is right.
 */
export function observeDatabase(
  { registry }: Pick<Metrics, 'registry'>,
  { db, poolSize, isReporter, mostRows = MOST_ROWS }: DatabaseMetricsOptions,
) {
  const gauges = createGauges(registry)
  gauges.poolSize.set(poolSize)
  // From 0: a counter that first appears with a failure shows no increase.
  for (const count of Object.keys(serviceCounts)) gauges.countsFailed.inc({ count }, 0)

  const { ofService } = gauges
  const { oldestEvent, oldestDelivery, oldestStaged, webhooksFailing } = ofService
  const withoutLabels = [oldestEvent, oldestDelivery, oldestStaged, webhooksFailing]
  const reset = () => {
    for (const gauge of Object.values(ofService)) gauge.reset()
    // A reset makes these 0, as if nothing waited.
    for (const gauge of withoutLabels) gauge.remove()
  }
  /** Counts that fail are left out: a long queue must not look like a database that is down. */
  const read = () =>
    Promise.all(
      Object.entries(serviceCounts).map(([count, read]) =>
        inTime(read({ db, mostRows }, ofService)).catch(() => {
          gauges.countsFailed.inc({ count })
          return () => {}
        }),
      ),
    )
  return async () => {
    gauges.poolWaiting.set(db.waiting())
    const [isUp, shows] = await Promise.all([
      inTime(db.ping()).then(
        () => true,
        () => false,
      ),
      inTime(isReporter()).then(
        (isHeld) => (isHeld ? read() : []),
        () => [],
      ),
    ])
    // In the same tick as they are set: another scrape may read them at any moment in between.
    reset()
    for (const show of shows) show()
    gauges.up.set(isUp ? 1 : 0)
  }
}

/** Rejects when `work` takes too long. It goes on until its own deadline. */
const inTime = <T>(work: Promise<T>): Promise<T> =>
  valueWithin(DATABASE_ANSWER_MS, work, () => {
    throw new DeadlineError()
  })
