import type { Db } from '../db/client.ts'
import type { Log } from './log.ts'
import type { Timings } from './timings.ts'

const MISSED_HEARTBEATS = 3

type HeartbeatOptions = { db: Db; workers: ReadonlySet<string>; timings: Timings; log: Log }

/**
 * Records at each heartbeat that the workers of this process are alive, and releases the jobs of
 * workers that missed three: their processes were killed, and graphile-worker alone would keep
 * those jobs locked for hours. Returns a function that stops the heartbeat and releases this
 * process's jobs.
 */
export function startHeartbeat({ db, workers, timings, log }: HeartbeatOptions) {
  const deadSeconds = (timings.heartbeatMs * MISSED_HEARTBEATS) / 1000
  let current = Promise.resolve()
  const beat = () => {
    current = writeHeartbeat(db, { workers: [...workers], deadSeconds }).catch((error) =>
      log.warn({ err: error }, "worker heartbeat write failed: dead workers' jobs stay locked"),
    )
  }
  beat()
  const timer = setInterval(beat, timings.heartbeatMs)
  return async () => {
    clearInterval(timer)
    await current
    await releaseWorkers(db, [...workers])
  }
}

const writeHeartbeat = (
  db: Db,
  { workers, deadSeconds }: { workers: string[]; deadSeconds: number },
) =>
  db.use(async (db) => {
    const deadSince = db`clock_timestamp() - make_interval(secs => ${deadSeconds})`
    await db`
      insert into job_workers (id, seen_at)
      select *, clock_timestamp()
      from unnest(${workers}::text[])
      on conflict (id) do update set seen_at = excluded.seen_at`
    await db`delete from job_workers where seen_at < ${deadSince}`
    await db`
      select graphile_worker.force_unlock_workers(array(
        select distinct job.locked_by
        from graphile_worker.jobs job
        where job.locked_at < ${deadSince}
          and not exists (select from job_workers jw where jw.id = job.locked_by)
      ))`
  })

const releaseWorkers = (db: Db, workers: string[]) =>
  db.use(async (db) => {
    await db`select graphile_worker.force_unlock_workers(${workers}::text[])`
    await db`delete from job_workers where id = any(${workers})`
  })
