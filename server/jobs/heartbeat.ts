import type { Db } from '../db/client.ts'
import type { Log } from './log.ts'
import type { Timings } from './timings.ts'

const MISSED_BEATS = 3

/**
 * Says with every beat that the workers of this process live, and frees the jobs of those that have not said so for
 * three beats: they were killed, and their jobs would be locked for hours. In the end it frees what this process has left.
 */
export function startHeartbeat({
  db,
  workers,
  timings,
  log,
}: {
  db: Db
  workers: ReadonlySet<string>
  timings: Timings
  log: Log
}) {
  let current = Promise.resolve()
  const beat = () => {
    current = rescue(db, {
      workers: [...workers],
      deadSeconds: (timings.beatMs * MISSED_BEATS) / 1000,
    }).catch((error) => log.warn({ err: error }, 'jobs of dead workers wait'))
  }
  beat()
  const timer = setInterval(beat, timings.beatMs)
  return async () => {
    clearInterval(timer)
    await current
    await farewell(db, [...workers])
  }
}

const farewell = (db: Db, workers: string[]) =>
  db.use(async (db) => {
    await db`select graphile_worker.force_unlock_workers(${workers}::text[])`
    await db`delete from job_workers where id = any(${workers})`
  })

const rescue = (db: Db, { workers, deadSeconds }: { workers: string[]; deadSeconds: number }) =>
  db.use(async (db) => {
    await db`
      insert into job_workers (id, seen_at) select *, clock_timestamp() from unnest(${workers}::text[])
      on conflict (id) do update set seen_at = excluded.seen_at`
    await db`delete from job_workers where seen_at < clock_timestamp() - make_interval(secs => ${deadSeconds})`
    await db`
      select graphile_worker.force_unlock_workers(array(
        select distinct locked_by from graphile_worker.jobs j
        where locked_at < clock_timestamp() - make_interval(secs => ${deadSeconds}) and not exists (select from job_workers w where w.id = j.locked_by)
      ))`
  })
