import { type JobStaging, MAX_ATTEMPTS } from '../core/jobs.ts'
import type { Log } from '../core/log.ts'
import { type Db, isStatementTimeout } from '../db/client.ts'
import { queueSchema } from '../db/own-schema.ts'
import { levelOf } from './log.ts'
import { type QueuedTask, taskSettings } from './tasks.ts'
import type { Timings } from './timings.ts'

/** The most jobs that a drain moves; fewer while the database takes too long. */
const JOBS_PER_DRAIN = 1_000
/** The age at which unclaimed jobs are reported: possibly no worker handles their task. */
const UNCLAIMED_SECONDS = 60

type DrainingOptions = {
  db: Db
  tasks: QueuedTask[]
  staging: JobStaging
  timings: Timings
  log: Log
}

/**
 * Moves staged jobs of these tasks to the queue: soon after this process commits them, and at the
 * next poll for jobs staged by other processes. Returns a function that stops this.
 */
export function startDraining({ db, tasks, staging, timings, log }: DrainingOptions) {
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined
  let isStopped = false
  let isWoken = false
  let isReported = false
  let most = JOBS_PER_DRAIN

  const scheduleRun = (milliseconds: number) => {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(run, milliseconds)
  }
  const reportUnclaimed = (unclaimed: QueuedTask[]) => {
    if (unclaimed.length === 0 || isReported) return
    isReported = true
    log.warn({ tasks: unclaimed }, 'staged jobs unclaimed: this process does not handle their task')
  }
  const drain = async () => {
    try {
      const { moved, unclaimed } = await moveStagedJobs(db, tasks, most)
      reportUnclaimed(unclaimed)
      const isMoreStaged = moved === most
      most = Math.min(JOBS_PER_DRAIN, 2 * most)
      return { isMoreStaged }
    } catch (error) {
      // With as many jobs it would take too long again, and all others would wait behind them for
      // ever.
      if (isStatementTimeout(error)) most = Math.ceil(most / 2)
      log[levelOf(error)]({ err: error }, 'draining staged jobs failed, will retry')
      return { isMoreStaged: false }
    }
  }
  const run = () => {
    timer = undefined
    isWoken = false
    current = drain().then(({ isMoreStaged }) => {
      current = undefined
      if (isMoreStaged) scheduleRun(0)
      else scheduleRun(isWoken ? timings.gatherMs : timings.pollMs)
    })
  }
  const unsubscribe = staging.onWake(() => {
    if (isWoken) return
    isWoken = true
    if (!current) scheduleRun(timings.gatherMs)
  })

  run()
  return async () => {
    isStopped = true
    unsubscribe()
    clearTimeout(timer)
    await current
  }
}

type Drained = { moved: number; unclaimed: QueuedTask[] }

/**
 * Moves staged jobs to the queue, in batches by task and app: an app whose pushes are many, or make
 * the provider fail, puts off none of another. It is one statement, so no job is lost or
 * duplicated, and several processes may drain at once. The named queues keep a user's own jobs in
 * order.
 */
const moveStagedJobs = (db: Db, tasks: QueuedTask[], most: number) =>
  db.use(async (db) => {
    const batchSizes = tasks.map((task) => taskSettings[task].batchSize)
    const [row] = await db<Drained[]>`
      with taken as (
        delete from staged_jobs
        where id in (
          select sj.id
          from staged_jobs sj
          where sj.task = any(${tasks}::text[])
          order by sj.id
          limit ${most}
          for update skip locked
        )
        returning id, task, payload, created_at
      ),
      batched as (
        select
          taken.*,
          payload ->> 'appId' as app_id,
          (row_number() over (partition by task, payload ->> 'appId' order by id) - 1)
            / given.batch_size as batch,
          case
            when task in ('subscriber', 'subscriber-removal', 'device')
              then 'subscribers-' || (hashtext(payload ->> 'userId') & 7)
          end as queue
        from taken
        join unnest(${tasks}::text[], ${batchSizes}::int[]) as given (task, batch_size) using (task)
      ),
      batches as (
        select
          task, queue,
          json_build_object(
            'jobs', json_agg(payload order by id),
            'since', min(created_at),
            'tries', 0
          ) as payload
        from batched
        group by task, app_id, batch, queue
        order by min(id)
      ),
      added as (
        select
        from ${queueSchema(db)}.add_jobs(array(
          select (
            task, payload, queue, null, ${MAX_ATTEMPTS}::int, null, null, null
          )::${queueSchema(db)}.job_spec
          from batches
        ))
      )
      select
        count(*)::int as moved,
        array(
          select distinct sj.task
          from staged_jobs sj
          where sj.task <> all(${tasks}::text[])
            and sj.created_at < now() - make_interval(secs => ${UNCLAIMED_SECONDS})
        ) as unclaimed
      from taken, (select count(*) from added) counted`
    return row ?? { moved: 0, unclaimed: [] }
  })
