import { performance } from 'node:perf_hooks'
import type { WorkersState } from '../core/context.ts'
import type { Log } from '../core/log.ts'
import type { Db } from '../db/client.ts'
import { timings as defaults, type Timings } from './timings.ts'

/** How many heartbeats a worker has to show that it lives, after the database's clock was set. */
const HEARTBEATS = 3

type WatchWorkersOptions = { db: Db; timings?: Partial<Timings> | undefined }

/**
 * Watches whether any process runs the jobs that this one only stages. `start` logs once when there
 * has been none for a while, and once when there is one again; it returns a function that ends
 * this.
 */
export function watchWorkers({ db, timings: overrides }: WatchWorkersOptions) {
  const { heartbeatMs, workerMissingMs } = { ...defaults, ...overrides }
  const graceMs = Math.min(HEARTBEATS * heartbeatMs, workerMissingMs / 2)
  let current: WorkersState = 'ok'

  const start = (log: Log) => {
    /** When a worker was last seen alive; at first a time ahead, so that one has time to begin. */
    let aliveAt = performance.now() + workerMissingMs - graceMs
    let looking: Promise<void> | undefined
    const look = async () => {
      const isAlive = await isWorkerAlive(db, (workerMissingMs - graceMs) / 1000)
      if (isAlive) aliveAt = performance.now()
      const next = isAlive || performance.now() - aliveAt < graceMs ? 'ok' : 'missing'
      if (next === current) return
      current = next
      if (next === 'missing')
        log.warn({}, 'staged jobs wait: no worker is running, start one with parley worker')
      else log.info({}, 'staged jobs resumed: a worker is running')
    }
    const timer = setInterval(() => {
      // One look at a time: an older answer must not undo a newer one.
      looking ??= look()
        // While the database is unavailable, nothing is known of workers, and they write nothing.
        .catch(() => {
          if (current === 'ok') aliveAt = Math.max(aliveAt, performance.now())
        })
        .finally(() => (looking = undefined))
    }, heartbeatMs)
    return async () => {
      clearInterval(timer)
      await looking
    }
  }
  return { state: () => current, start }
}

/** A time far ahead of the clock is from before that was set back: its worker may be dead. */
const isWorkerAlive = (db: Db, seconds: number) =>
  db.use(async (db) => {
    const [row] = await db<{ isAlive: boolean }[]>`
      select exists (
        select
        from job_workers jw
        where jw.seen_at > clock_timestamp() - make_interval(secs => ${seconds})
          and jw.seen_at < clock_timestamp() + make_interval(secs => ${seconds})
      ) as is_alive`
    return row?.isAlive ?? false
  })
