import type { Db, Tx } from '../db/client.ts'
import { hasQueue, isOwnSession, queueSchema } from '../db/own-schema.ts'
import type { ServiceGauges } from './database-gauges.ts'

/* Reads the metrics of the whole service. `mostRows` bounds the rows that a count looks at. */

type JobsRow = { task: string; state: string; count: number; oldest: number }

type CountSource = { db: Db; mostRows: number }

/** Counts staged jobs, which also wait, and queued ones. */
async function readJobs({ db, mostRows }: CountSource, { jobs, oldestJob }: ServiceGauges) {
  const rows = await db.use(async (db) => {
    const queued = (await hasQueue(db)) ? unionQueuedJobs(db, mostRows) : db``
    return db<JobsRow[]>`
      select
        task, state,
        count(*)::int,
        greatest(extract(epoch from now() - min(due)), 0)::float as oldest
      from (
        (
          select sj.task, 'waiting' as state, sj.created_at as due
          from staged_jobs sj
          order by sj.id
          limit ${mostRows}
        )
        ${queued}
      ) jobs
      group by task, state`
  })
  return () => {
    for (const { task, state, count, oldest } of rows) {
      jobs.set({ task, state }, count)
      if (state === 'waiting') oldestJob.set({ task }, oldest)
    }
  }
}

/**
 * Jobs that wait for their time or a worker are read by the index from which workers take them.
 * Running and dead jobs, which no index has, are among the first that were added.
 */
const unionQueuedJobs = (db: Tx, mostRows: number) => db`
  union all
  select task.identifier, job.state, job.run_at
  from (
    (
      select available.task_id, 'waiting' as state, available.run_at
      from ${queueSchema(db)}._private_jobs available
      where available.is_available
      order by available.priority, available.run_at
      limit ${mostRows}
    )
    union all
    select
      first.task_id,
      case when first.locked_at is null then 'dead' else 'waiting' end,
      first.run_at
    from (
      select added.task_id, added.run_at, added.locked_at, added.is_available
      from ${queueSchema(db)}._private_jobs added
      order by added.id
      limit ${mostRows}
    ) first
    where not first.is_available
  ) job
  join ${queueSchema(db)}._private_tasks task on task.id = job.task_id`

type ConnectionsRow = { state: string; count: number }

async function readConnections({ db }: CountSource, { connections }: ServiceGauges) {
  const rows = await db.use(
    (db) => db<ConnectionsRow[]>`
      select coalesce(sa.state, 'unknown') as state, count(*)::int
      from pg_stat_activity sa
      where ${isOwnSession(db)}
      group by 1`,
  )
  return () => {
    for (const { state, count } of rows) connections.set({ state }, count)
  }
}

type AgesRow = { event: number | null; staged: number | null }

/** The ages of the first rows of an index. */
async function readAges({ db }: CountSource, { oldestEvent, oldestStaged }: ServiceGauges) {
  const [ages] = await db.use(
    (db) => db<AgesRow[]>`
      select
        (
          select extract(epoch from now() - e.created_at)::float
          from events e
          order by e.created_at
          limit 1
        ) as event,
        (
          select extract(epoch from now() - sj.created_at)::float
          from staged_jobs sj
          order by sj.id
          limit 1
        ) as staged`,
  )
  return () => {
    oldestEvent.set(ages?.event ?? 0)
    oldestStaged.set(ages?.staged ?? 0)
  }
}

type WebhooksRow = { oldestDelivery: number; failing: number }

/**
 * Until its first attempt, a delivery that is sent again, as by a replay, has waited since that was
 * asked: its event may be older. One that was tried has waited since it was made.
 */
async function readWebhooks(
  { db }: CountSource,
  { oldestDelivery, webhooksFailing }: ServiceGauges,
) {
  const [webhooks] = await db.use(
    (db) => db<WebhooksRow[]>`
      select
        (
          select coalesce(extract(epoch from now() - min(line.waits_since)), 0)::float
          from webhooks wh
          cross join lateral (
            select
              case
                when wd.attempts = 0 then wd.next_attempt_at
                else wd.created_at
              end as waits_since
            from webhook_deliveries wd
            where wd.webhook_id = wh.id
              and wd.status = 'pending'
            order by wd.id
            limit 1
          ) line
          where wh.enabled
        ) as oldest_delivery,
        (
          select count(*)::int
          from webhooks wh
          where wh.enabled
            and wh.failing_since is not null
        ) as failing`,
  )
  return () => {
    oldestDelivery.set(webhooks?.oldestDelivery ?? 0)
    webhooksFailing.set(webhooks?.failing ?? 0)
  }
}

type BacklogRow = { users: number; channels: number }

async function readBacklog({ db, mostRows }: CountSource, { purgeBacklog }: ServiceGauges) {
  const [backlog] = await db.use(
    (db) => db<BacklogRow[]>`
      select
        (
          select count(*)::int
          from (
            select
            from users u
            where u.deleted_at is not null
              and u.forgotten_at is null
            limit ${mostRows}
          ) deleted
        ) as users,
        (
          select count(*)::int
          from (
            select
            from channels c
            where c.deleted_at is not null
              and c.deleted_at < 'infinity'
            limit ${mostRows}
          ) deleted
        ) as channels`,
  )
  return () => {
    purgeBacklog.set({ kind: 'users' }, backlog?.users ?? 0)
    purgeBacklog.set({ kind: 'channels' }, backlog?.channels ?? 0)
  }
}

/** The numbers of each are shown or left out together. */
export const serviceCounts = {
  jobs: readJobs,
  connections: readConnections,
  ages: readAges,
  webhooks: readWebhooks,
  backlog: readBacklog,
}
