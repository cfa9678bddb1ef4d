import { Gauge, type Registry } from 'prom-client'
import type { Db, Tx } from '../db/client.ts'
import { hasQueue, queueSchema } from '../db/own-schema.ts'
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
  const read = () => Promise.all([selectJobs(db), selectConnections(db), selectKept(db)])
  const update = async () => {
    gauges.poolWaiting.set(db.waiting())
    const found = (await isReporter()) ? await read() : undefined
    // In the same tick as they are set: another scrape may read them at any moment in between.
    reset()
    if (!found) return
    const [jobs, connections, [kept]] = found
    for (const { task, state, count, oldest } of jobs) {
      ofService.jobs.set({ task, state }, count)
      if (state === 'waiting') ofService.oldestJob.set({ task }, oldest)
    }
    for (const { state, count } of connections) ofService.connections.set({ state }, count)
    ofService.oldestEvent.set(kept?.oldestEvent ?? 0)
    ofService.oldestDelivery.set(kept?.oldestDelivery ?? 0)
    ofService.webhooksFailing.set(kept?.webhooksFailing ?? 0)
    ofService.oldestStaged.set(kept?.oldestStaged ?? 0)
    ofService.purgeBacklog.set({ kind: 'users' }, kept?.users ?? 0)
    ofService.purgeBacklog.set({ kind: 'channels' }, kept?.channels ?? 0)
  }
  return () =>
    update().then(
      () => gauges.up.set(1),
      () => {
        reset()
        gauges.up.set(0)
      },
    )
}

/** Those of this process, and those of the service as a whole. */
function createGauges(registry: Registry) {
  const registers = [registry]
  const ofService = {
    jobs: new Gauge({
      name: 'parley_jobs_waiting',
      help: 'Jobs by task and state: waiting to run, or dead (given up).',
      labelNames: ['task', 'state'] as const,
      registers,
    }),
    oldestJob: new Gauge({
      name: 'parley_jobs_oldest_seconds',
      help: 'Seconds for which the oldest waiting job has been due.',
      labelNames: ['task'] as const,
      registers,
    }),
    connections: new Gauge({
      name: 'parley_database_connections',
      help: "The service's connections to the database, from all nodes, by state.",
      labelNames: ['state'] as const,
      registers,
    }),
    oldestEvent: new Gauge({
      name: 'parley_events_oldest_seconds',
      help: 'Age of the oldest event kept: above a day, the cleanup does not keep up.',
      registers,
    }),
    oldestDelivery: new Gauge({
      name: 'parley_webhook_oldest_seconds',
      help: 'Age of the oldest delivery that others to its webhook wait for.',
      registers,
    }),
    webhooksFailing: new Gauge({
      name: 'parley_webhooks_failing',
      help: 'Enabled webhooks whose last delivery failed.',
      registers,
    }),
    oldestStaged: new Gauge({
      name: 'parley_staged_jobs_oldest_seconds',
      help: 'Age of the oldest staged job that no worker has taken to the queue yet.',
      registers,
    }),
    purgeBacklog: new Gauge({
      name: 'parley_purge_backlog',
      help: 'Deleted users and channels of which the cleanup has not deleted everything yet.',
      labelNames: ['kind'] as const,
      registers,
    }),
  }
  return {
    ofService,
    up: new Gauge({
      name: 'parley_database_up',
      help: 'Whether the database answered when this was collected.',
      aggregator: 'min',
      registers,
    }),
    poolSize: new Gauge({
      name: 'parley_database_pool_size',
      help: "The size of this process's connection pool.",
      registers,
    }),
    poolWaiting: new Gauge({
      name: 'parley_database_pool_waiting',
      help: 'Calls waiting for a connection from the pool.',
      registers,
    }),
  }
}

type JobsRow = { task: string; state: string; count: number; oldest: number }

/** Counts staged jobs, which also wait, and queued ones. */
const selectJobs = (db: Db) =>
  db.use(async (db) => {
    const queued = (await hasQueue(db)) ? unionQueuedJobs(db) : db``
    return db<JobsRow[]>`
      select
        task, state,
        count(*)::int,
        greatest(extract(epoch from now() - min(due)), 0)::float as oldest
      from (
        select sj.task, 'waiting' as state, sj.created_at as due
        from staged_jobs sj
        ${queued}
      ) jobs
      group by task, state`
  })

const unionQueuedJobs = (db: Tx) => db`
  union all
  select
    task_identifier,
    case when attempts < max_attempts or locked_at is not null then 'waiting' else 'dead' end,
    run_at
  from ${queueSchema(db)}.jobs`

type ConnectionsRow = { state: string; count: number }

const selectConnections = (db: Db) =>
  db.use(
    (db) => db<ConnectionsRow[]>`
      select coalesce(state, 'unknown') as state, count(*)::int
      from pg_stat_activity
      where datname = current_database() and application_name like 'parley%'
      group by 1`,
  )

type KeptRow = {
  oldestEvent: number
  oldestStaged: number
  oldestDelivery: number
  webhooksFailing: number
  users: number
  channels: number
}

const selectKept = (db: Db) =>
  db.use(
    (db) => db<KeptRow[]>`
      select
        (
          select coalesce(extract(epoch from now() - min(e.created_at)), 0)::float
          from events e
        ) as oldest_event,
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
        ) as webhooks_failing,
        (
          select coalesce(extract(epoch from now() - min(sj.created_at)), 0)::float
          from staged_jobs sj
        ) as oldest_staged,
        (
          select count(*)::int
          from users u
          where u.deleted_at is not null
            and u.forgotten_at is null
        ) as users,
        (
          select count(*)::int
          from channels c
          where c.deleted_at is not null
            and c.deleted_at < 'infinity'
        ) as channels`,
  )
