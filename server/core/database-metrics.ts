import type { Db, Tx } from '../db/client.ts'
import { hasQueue, queueSchema } from '../db/own-schema.ts'
import { createGauges, type ServiceGauges } from './database-gauges.ts'
import type { Metrics } from './metrics.ts'

/**
 * The metrics that are read from the database. Returns a function that updates them. Metrics of the
 * whole service are shown by one of its processes, so that a sum over all is right.
 */
export function observeDatabase(
  { registry }: Pick<Metrics, 'registry'>,
  { db, poolSize, isReporter }: { db: Db; poolSize: number; isReporter: () => Promise<boolean> },
) {
  const gauges = createGauges(registry)
  gauges.poolSize.set(poolSize)

  const { ofService } = gauges
  const reset = () => {
    for (const gauge of Object.values(ofService)) gauge.reset()
  }
  /** What fails is left out: a long queue must not look like a database that is down. */
  const read = () =>
    Promise.all(
      [readJobs, readConnections, readAges, readWebhooks, readBacklog].map((read) =>
        read(db, ofService).catch(() => () => {}),
      ),
    )
  return async () => {
    gauges.poolWaiting.set(db.waiting())
    const [isUp, shows] = await Promise.all([
      succeeds(db.ping()),
      isReporter().then(
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

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  )

type JobsRow = { task: string; state: string; count: number; oldest: number }

/** How many rows a count looks at: beyond it the count says that there are at least so many. */
const MOST_ROWS = 50_000

/** Counts staged jobs, which also wait, and queued ones: those that were added first. */
async function readJobs(db: Db, { jobs, oldestJob }: ServiceGauges) {
  const rows = await db.use(async (db) => {
    const queued = (await hasQueue(db)) ? unionQueuedJobs(db) : db``
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
          limit ${MOST_ROWS}
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

const unionQueuedJobs = (db: Tx) => db`
  union all
  (
    select
      job.task_identifier,
      case
        when job.attempts < job.max_attempts or job.locked_at is not null then 'waiting'
        else 'dead'
      end,
      job.run_at
    from ${queueSchema(db)}.jobs job
    order by job.id
    limit ${MOST_ROWS}
  )`

type ConnectionsRow = { state: string; count: number }

async function readConnections(db: Db, { connections }: ServiceGauges) {
  const rows = await db.use(
    (db) => db<ConnectionsRow[]>`
      select coalesce(state, 'unknown') as state, count(*)::int
      from pg_stat_activity
      where datname = current_database() and application_name like 'parley%'
      group by 1`,
  )
  return () => {
    for (const { state, count } of rows) connections.set({ state }, count)
  }
}

type AgesRow = { event: number | null; staged: number | null }

/** Those of the first rows of an index. */
async function readAges(db: Db, { oldestEvent, oldestStaged }: ServiceGauges) {
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

async function readWebhooks(db: Db, { oldestDelivery, webhooksFailing }: ServiceGauges) {
  const [webhooks] = await db.use(
    (db) => db<WebhooksRow[]>`
      select
        (
          select coalesce(extract(epoch from now() - min(line.created_at)), 0)::float
          from webhooks wh
          cross join lateral (
            select wd.created_at
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

async function readBacklog(db: Db, { purgeBacklog }: ServiceGauges) {
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
            limit ${MOST_ROWS}
          ) deleted
        ) as users,
        (
          select count(*)::int
          from (
            select
            from channels c
            where c.deleted_at is not null
              and c.deleted_at < 'infinity'
            limit ${MOST_ROWS}
          ) deleted
        ) as channels`,
  )
  return () => {
    purgeBacklog.set({ kind: 'users' }, backlog?.users ?? 0)
    purgeBacklog.set({ kind: 'channels' }, backlog?.channels ?? 0)
  }
}
