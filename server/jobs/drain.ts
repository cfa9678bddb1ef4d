import type { JobStaging } from '../core/jobs.ts'
import type { Db } from '../db/client.ts'
import type { Log } from './log.ts'
import { MAX_ATTEMPTS, settings, type WorkTask } from './tasks.ts'
import type { Timings } from './timings.ts'

const PORTION = 1_000
/** Promises of this age wait for a process that there may not be. */
const FORSAKEN_SECONDS = 60

type Draining = { db: Db; tasks: WorkTask[]; staging: JobStaging; timings: Timings; log: Log }

/** Hands promised work of these tasks to the queue, soon after this process commits it, and within about a second for all others. */
export function startDraining({ db, tasks, staging, timings, log }: Draining) {
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> | undefined
  let isStopped = false

  const next = (milliseconds: number) => {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(run, milliseconds)
  }
  const run = () => {
    timer = undefined
    isWoken = false
    current = drain(db, tasks)
      .then(({ moved, forsaken }) => {
        if (forsaken.length > 0 && !isTold)
          log.warn({ tasks: forsaken }, 'jobs wait that this process can not do')
        isTold ||= forsaken.length > 0
        return moved
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, 'staged jobs wait')
        return 0
      })
      .then((moved) => {
        current = undefined
        next(moved === PORTION ? 0 : isWoken ? timings.gatherMs : timings.pollMs)
      })
  }
  let isWoken = false
  let isTold = false
  const forget = staging.onWake(() => {
    if (isWoken) return
    isWoken = true
    if (!current) next(timings.gatherMs)
  })

  run()
  return async () => {
    isStopped = true
    forget()
    clearTimeout(timer)
    await current
  }
}

/** One statement, so that nothing is lost or doubled; several may drain at once. A user's own jobs keep their order. */
const drain = (db: Db, tasks: WorkTask[]) =>
  db.use(async (db) => {
    const [row] = await db<{ moved: number; forsaken: WorkTask[] }[]>`
      with taken as (
        delete from staged_jobs
        where id in (select id from staged_jobs where task = any(${tasks}::text[]) order by id limit ${PORTION} for update skip locked)
        returning id, task, payload, created_at
      ), placed as (
        select t.*, (row_number() over (partition by task order by id) - 1) / s.at_once as portion,
          case when task in ('subscriber', 'device') then 'subscribers-' || (hashtext(payload->>'userId') & 7) end as queue
        from taken t
        join unnest(${tasks}::text[], ${tasks.map((task) => settings[task].atOnce)}::int[]) as s (task, at_once) using (task)
      ), jobs as (
        select task, queue, json_build_object('jobs', json_agg(payload order by id), 'since', min(created_at), 'tries', 0) as payload
        from placed group by task, portion, queue order by min(id)
      ), added as (
        select from graphile_worker.add_jobs(array(
          select (task, payload, queue, null, ${MAX_ATTEMPTS}::int, null, null, null)::graphile_worker.job_spec from jobs
        ))
      )
      select count(*)::int as moved, array(
        select distinct task from staged_jobs
        where task <> all(${tasks}::text[]) and created_at < now() - make_interval(secs => ${FORSAKEN_SECONDS})
      ) as forsaken
      from taken, (select count(*) from added) a`
    return row ?? { moved: 0, forsaken: [] }
  })
