import { type JobStaging, MAX_ATTEMPTS } from '../core/jobs.ts'
import type { Log } from '../core/log.ts'
import { type Db, isStatementTimeout } from '../db/client.ts'
import { queueSchema } from '../db/own-schema.ts'
import { levelOf } from './log.ts'
import { type DrainedRounds, LAST_ROUND, type Rounds, SPARE_ROUNDS } from './rounds.ts'
import { type QueuedTask, taskSettings } from './tasks.ts'
import type { Timings } from './timings.ts'

/** The most jobs of a task that a drain moves; fewer while the database takes too long. */
const JOBS_PER_DRAIN = 1_000
/** How many waiting jobs, from the lowest round, a drain reads to find the running rounds. */
const MOST_WAITING = 2_000
/** The age at which unclaimed jobs are reported: possibly no worker handles their task. */
const UNCLAIMED_SECONDS = 60
/** Among how many of the oldest jobs a drain looks for these, until they are reported. */
const MOST_UNCLAIMED = 1_000

type DrainingOptions = {
  db: Db
  tasks: QueuedTask[]
  staging: JobStaging
  rounds: Rounds
  timings: Timings
  log: Log
}

/**
 * Moves staged jobs of these tasks to the queue: soon after this process commits them, and at the
 * next poll for jobs staged by other processes. Returns a function that stops this.
 */
export function startDraining({ db, tasks, staging, rounds, timings, log }: DrainingOptions) {
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
      const { moved, unclaimed, ...drained } = await moveStagedJobs(db, {
        ...{ tasks, most, rounds },
        mostUnclaimed: isReported ? 0 : MOST_UNCLAIMED,
      })
      rounds.drained(drained)
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

/** `moved`: how many jobs of the task that had most. */
type Drained = DrainedRounds & { moved: number; unclaimed: QueuedTask[] }
type Move = { tasks: QueuedTask[]; most: number; mostUnclaimed: number; rounds: Rounds }

/**
 * Moves staged jobs to the queue, in batches by task and app: an app whose pushes are many, or make
 * the provider fail, puts off none of another. It is one statement, so no job is lost or
 * duplicated, and several processes may drain at once. In the named queues no two jobs of a user
 * are run side by side. Each task has its own limit, and its jobs are read by the index that begins
 * with the task, for which `any` is needed: so a long queue of another costs and delays nothing.
 */
const moveStagedJobs = (db: Db, { tasks, most, mostUnclaimed, rounds }: Move) =>
  db.use(async (db) => {
    const batchSizes = tasks.map((task) => taskSettings[task].batchSize)
    const queues = tasks.map((task) => taskSettings[task].queue)
    const ahead = db.json(rounds.ahead())
    const [row] = await db<Drained[]>`
      with waiting as materialized (
        select
          job.task_id,
          least(job.priority, ${LAST_ROUND - SPARE_ROUNDS}::int) as priority,
          job.run_at <= now() as is_due
        from ${queueSchema(db)}._private_jobs job
        where job.is_available
        order by job.priority, job.run_at
        limit ${MOST_WAITING}
      ),
      queues as materialized (
        select
          given.name,
          coalesce(
            min(waiting.priority) filter (where waiting.is_due),
            min(waiting.priority)
          ) as running
        from unnest(${queues}::text[], ${tasks}::text[]) as given (name, task)
        left join ${queueSchema(db)}._private_tasks known on known.identifier = given.task
        left join waiting on waiting.task_id = known.id
        group by given.name
      ),
      taken as (
        delete from staged_jobs
        where ctid = any(array(
          select oldest.ctid
          from unnest(${tasks}::text[]) as given (task)
          cross join lateral (
            select sj.ctid
            from staged_jobs sj
            where sj.task = any(array[given.task])
            order by sj.task, sj.id
            limit ${most}
            for update skip locked
          ) oldest
        ))
        returning id, task, payload, created_at
      ),
      batched as (
        select
          taken.*,
          payload ->> 'appId' as app_id,
          (row_number() over (partition by task, payload ->> 'appId' order by id) - 1)
            / given.batch_size as batch,
          queues.running,
          case
            when task in ('subscriber', 'subscriber-removal', 'device')
              then 'subscribers-' || (hashtext(payload ->> 'userId') & 7)
          end as queue
        from taken
        join unnest(${tasks}::text[], ${batchSizes}::int[], ${queues}::text[])
          as given (task, batch_size, queue_name) using (task)
        join queues on queues.name = given.queue_name
      ),
      batches as (
        select
          batched.task, app_id, queue,
          min(id) as first_id,
          json_build_object(
            'jobs', json_agg(payload order by id),
            'since', min(created_at),
            'tries', 0
          ) as payload,
          greatest(max(running), max(ahead.round), 0)
            + row_number() over (partition by batched.task, app_id order by min(id)) - 1 as round
        from batched
        left join jsonb_to_recordset(${ahead})
          as ahead (task text, "appId" text, round int)
          on ahead.task = batched.task and ahead."appId" = batched.app_id
        group by batched.task, app_id, batch, queue
      ),
      added as (
        select
        from ${queueSchema(db)}.add_jobs(array(
          select (
            task, payload, queue, null, ${MAX_ATTEMPTS}::int, null,
            least(round, ${LAST_ROUND}::int), null
          )::${queueSchema(db)}.job_spec
          from batches
          order by first_id
        ))
      )
      select
        (
          select coalesce(max(moved.count), 0)
          from (
            select count(*)::int
            from taken
            group by task
          ) moved
        ) as moved,
        array(
          select distinct sj.task
          from (
            select *
            from staged_jobs
            order by id
            limit ${mostUnclaimed}
          ) sj
          where sj.task <> all(${tasks}::text[])
            and sj.created_at < now() - make_interval(secs => ${UNCLAIMED_SECONDS})
        ) as unclaimed,
        (
          select json_agg(json_build_object('queue', queues.name, 'running', queues.running))
          from queues
        ) as running,
        (
          select coalesce(json_agg(enqueued), '[]')
          from (
            select task, app_id as "appId", max(round) + 1 as round
            from batches
            group by task, app_id
          ) enqueued
        ) as next
      from (select count(*) from added) counted`
    return row ?? { moved: 0, unclaimed: [], running: [], next: [] }
  })
