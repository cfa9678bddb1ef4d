import { createClockSteps } from '../core/clock-steps.ts'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Db, Tx } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import { queueSchema } from '../db/own-schema.ts'
import { transaction } from '../db/transaction.ts'
import { levelOf } from './log.ts'
import { MAX_DEATHS, survivedDeaths } from './tasks.ts'
import type { Timings } from './timings.ts'

const MISSED_HEARTBEATS = 3
/**
 * After so many heartbeats that this process did not write, whatever prevented them may have
 * prevented other workers' as well. One failure is no reason: if one in three failed, no worker
 * would ever be declared dead.
 */
const AWAY_HEARTBEATS = 2.5
/**
 * How many jobs a heartbeat corrects after the clock was set back: no more than it has time for.
 */
const JOBS_PER_BEAT = 2_000

type ReleaseContext = { db: Db; metrics: Metrics; log: Log }
type HeartbeatOptions = ReleaseContext & {
  queue: { workers: ReadonlySet<string>; notStored: NotStored }
  timings: Timings
}

/**
 * Records at each heartbeat that the workers of this process are alive, and releases the jobs of
 * workers that missed three: their processes were killed, and graphile-worker alone would keep
 * those jobs locked for hours. Returns a function that stops the heartbeat and releases this
 * process's jobs.
 */
export function startHeartbeat({ queue, timings, ...context }: HeartbeatOptions) {
  const { workers, notStored } = queue
  const deadSeconds = (timings.heartbeatMs * MISSED_HEARTBEATS) / 1000
  const clock = createClockSteps()
  let writing: Promise<void> | undefined
  let looking: Promise<void> | undefined
  /** When a heartbeat was last written, by `performance.now()`. */
  let writtenAt = Number.NEGATIVE_INFINITY
  /**
   * For how many heartbeats no worker is declared dead. When the database's clock was set, or this
   * process wrote no heartbeat for a while, live workers look dead until they write another one.
   */
  let patience = 0
  const write = async () => {
    const from = performance.now()
    const at = await writeHeartbeat(context.db, { workers: [...workers], deadSeconds })
    const to = performance.now()
    const wasAway = to - writtenAt > AWAY_HEARTBEATS * timings.heartbeatMs
    writtenAt = to
    const isUnsure = clock.isStep(at, { from, to }) || wasAway
    patience = isUnsure ? MISSED_HEARTBEATS : Math.max(patience - 1, 0)
    // The next heartbeat does not wait for it.
    looking ??= releaseDead(at)
      .catch(report)
      .finally(() => (looking = undefined))
  }
  const releaseDead = async (at: number) => {
    await putJobsRight(context.db, deadSeconds)
    const dead = patience > 0 ? [] : await removeDeadWorkers(context.db, { at, deadSeconds })
    if (dead.length > 0 || notStored.size > 0)
      await releaseWorkers(context, { workers: dead, notStored })
  }
  const report = (error: unknown) =>
    context.log[levelOf(error)](
      { err: error },
      "worker heartbeat write failed: dead workers' jobs stay locked",
    )
  // One at a time: an earlier answer that arrives late would look as if the clock had been set.
  const beat = () => {
    writing ??= write()
      .catch(report)
      .finally(() => (writing = undefined))
  }
  beat()
  const timer = setInterval(beat, timings.heartbeatMs)
  return async () => {
    clearInterval(timer)
    await writing
    await looking
    await releaseWorkers(context, { workers: [...workers], notStored })
  }
}

/**
 * Writes the heartbeat, and returns its time. Heartbeats ahead of the clock are from before it was
 * set back, and count as written now.
 */
const writeHeartbeat = (
  db: Db,
  { workers, deadSeconds }: { workers: string[]; deadSeconds: number },
) =>
  db.useApart(async (db) => {
    const [row] = await db<{ at: number }[]>`
      with beat as (
        insert into job_workers (id, seen_at)
        select *, clock_timestamp()
        from unnest(${workers}::text[])
        on conflict (id) do update set seen_at = excluded.seen_at
      )
      select (extract(epoch from clock_timestamp()) * 1000)::float as at`
    await db`
      update job_workers
      set seen_at = clock_timestamp()
      where seen_at ${isAhead(db, deadSeconds)}`
    return row?.at ?? 0
  })

/**
 * After the clock was set back, makes waiting jobs wait from now for as long as they were put off.
 */
const putJobsRight = (db: Db, deadSeconds: number) =>
  db.use(
    (db) => db`
      select
      from (
        select job.id, greatest(job.run_at - job.updated_at, '0') as pause
        from ${queueSchema(db)}.jobs job
        where job.updated_at ${isAhead(db, deadSeconds)}
          and job.run_at > clock_timestamp()
          and job.locked_at is null
        order by job.run_at
        limit ${JOBS_PER_BEAT}
      ) late, ${queueSchema(db)}.reschedule_jobs(
        array[late.id],
        run_at => clock_timestamp() + late.pause
      )`,
  )

/**
 * Removes the workers without a heartbeat, and returns those that still hold locks on jobs. The
 * clock may have been set since this process wrote its heartbeat, so the age of others is judged by
 * the earlier of both times. A lock ahead of the clock is an old one.
 */
const removeDeadWorkers = (db: Db, { at, deadSeconds }: { at: number; deadSeconds: number }) =>
  db.use(async (db) => {
    const deadSince = db`
      least(to_timestamp(${at}::float / 1000), clock_timestamp())
        - make_interval(secs => ${deadSeconds})`
    await db`
      delete from job_workers
      where seen_at < ${deadSince}`
    const dead = await db<{ id: string }[]>`
      select distinct job.locked_by as id
      from ${queueSchema(db)}.jobs job
      where (job.locked_at < ${deadSince} or job.locked_at ${isAhead(db, deadSeconds)})
        and not exists (
          select
          from job_workers jw
          where jw.id = job.locked_by
        )`
    return dead.map(({ id }) => id)
  })

const isAhead = (db: Tx, seconds: number) =>
  db`> clock_timestamp() + make_interval(secs => ${seconds})`

/** Jobs whose outcome could not be stored, and how many attempts each had in all. */
type NotStored = Map<string, number>
type ReleasedJob = { id: string; task: string; maxAttempts: number; isInProgress: boolean }

/**
 * Releases the jobs of workers that have ended. A job's attempt was counted when it was taken, and
 * is given back, until the job has survived MAX_DEATHS deaths: the next one gives it up. The same
 * goes for jobs whose outcome could not be stored, once no worker has them, unless another process
 * has released them since.
 */
export async function releaseWorkers(
  { db, metrics, log }: ReleaseContext,
  { workers, notStored }: { workers: string[]; notStored: NotStored },
) {
  // A concurrent release must not give them an attempt as well.
  const given = [...notStored]
  notStored.clear()
  const onGivenUp = ({ id, task, maxAttempts }: ReleasedJob) => {
    metrics.jobs.inc({ task, outcome: 'given_up' })
    const deaths = survivedDeaths(maxAttempts) + 1
    log.error({ task, jobId: id, deaths }, 'job given up: its workers died')
  }
  const jobs = await release(db, { workers, given, onGivenUp }).catch((error) => {
    for (const [id, maxAttempts] of given) notStored.set(id, maxAttempts)
    throw error
  })
  for (const { id, maxAttempts, isInProgress } of jobs)
    if (isInProgress) notStored.set(id, maxAttempts)
}

const isLast = (maxAttempts: number) => survivedDeaths(maxAttempts) >= MAX_DEATHS

type ReleaseQuery = {
  workers: string[]
  given: [id: string, maxAttempts: number][]
  /**
   * Called with each given-up job before the commit. The answer to a commit may be lost, and rather
   * twice than never.
   */
  onGivenUp: (job: ReleasedJob) => void
}

/**
 * Returns the jobs of these workers, and the given jobs that still have as many attempts, since a
 * release gives one more. Jobs in progress elsewhere stay as they are.
 */
const release = (db: Db, { workers, given, onGivenUp }: ReleaseQuery) =>
  db.use((connection) =>
    transaction(connection, async (tx) => {
      const queue = queueSchema(tx)
      const ids = given.map(([id]) => id)
      const maxAttempts = given.map(([, maxAttempts]) => maxAttempts)
      // Otherwise two nodes that release at once would give a job two attempts back.
      await tx`select pg_advisory_xact_lock(${locks.release}, ${inSchema(tx)})`
      const jobs = await tx<ReleasedJob[]>`
        select
          job.id, job.task_identifier as task, job.max_attempts,
          num_nonnulls(job.locked_by) = 1
            and job.locked_by <> all(${workers}::text[]) as is_in_progress
        from ${queue}.jobs job
        where job.locked_by = any(${workers}::text[])
          or (job.id, job.max_attempts) in (
            select given.id::bigint, given.max_attempts
            from unnest(${ids}::text[], ${maxAttempts}::int[]) as given (id, max_attempts)
          )`
      const ended = jobs.filter(({ isInProgress }) => !isInProgress)
      const again = ended.filter(({ maxAttempts }) => !isLast(maxAttempts)).map(({ id }) => id)
      const last = ended.filter(({ maxAttempts }) => isLast(maxAttempts))
      await tx`select ${queue}.force_unlock_workers(${workers}::text[])`
      await tx`
        select
        from ${queue}.jobs job,
          ${queue}.reschedule_jobs(array[job.id], max_attempts => job.max_attempts + 1)
        where job.id in (select unnest(${again}::text[])::bigint)`
      // Failing a job raises its attempts to the maximum. They become those that it really had.
      await tx`
        select
        from ${queue}.jobs job,
          ${queue}.reschedule_jobs(array[job.id], max_attempts => job.attempts) counted,
          ${queue}.permanently_fail_jobs(array[counted.id], 'its workers died')
        where job.id in (select unnest(${last.map(({ id }) => id)}::text[])::bigint)`
      await tx`
        delete from job_workers
        where id = any(${workers}::text[])`
      for (const job of last) onGivenUp(job)
      return jobs
    }),
  )
