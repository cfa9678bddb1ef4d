import type { Log } from '../core/log.ts'
import type { Db } from '../db/client.ts'
import { queueSchema } from '../db/own-schema.ts'
import { levelOf } from './log.ts'
import type { Timings } from './timings.ts'

/** The key in `service` of the time at which a process last enqueued a cleanup. */
const ENQUEUED = 'cleanup_enqueued_at'
/** A cleanup enqueued within this fraction of the interval counts for all processes. */
const SHARED_PART = 0.75

type ScheduleOptions = { db: Db; timings: Timings; log: Log }

/**
 * Enqueues a cleanup now and in each interval. A timer measures it, and not the crontab of
 * graphile-worker: a process whose clock is wrong or steps would enqueue none for as long, and one
 * that is ahead would keep all others from it. Returns a function that stops this.
 */
export function scheduleCleanups({ db, timings, log }: ScheduleOptions) {
  let current: Promise<unknown> | undefined
  const enqueue = () => {
    current ??= enqueueCleanup(db, timings.cleanupMs * SHARED_PART)
      .catch((error) => {
        log[levelOf(error)]({ err: error }, 'enqueueing the cleanup failed, will retry')
      })
      .finally(() => (current = undefined))
  }
  enqueue()
  const timer = setInterval(enqueue, timings.cleanupMs)
  return async () => {
    clearInterval(timer)
    await current
  }
}

/**
 * At most one cleanup waits; it continues where the previous one ran out of time. A time ahead of
 * the database's clock is from before that was set back, and says nothing.
 */
const enqueueCleanup = (db: Db, sharedMs: number) =>
  db.use(
    (db) => db`
      with turn as (
        insert into service (key, value)
        values (${ENQUEUED}, now()::text)
        on conflict (key) do update
        set value = excluded.value
        where service.value::timestamptz <= now() - ${sharedMs} * interval '1 millisecond'
          or service.value::timestamptz > now()
        returning key
      )
      select ${queueSchema(db)}.add_job('cleanup', job_key => 'cleanup', max_attempts => 1)
      from turn`,
  )
