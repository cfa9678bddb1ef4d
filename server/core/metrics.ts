import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Db } from '../db/client.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** What is counted and measured of this process, in the words of Prometheus. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
    operations: new Histogram({
      name: 'parley_operation_seconds',
      help: 'Calls by operation (messages.send is a send) and outcome: ok, or the code of the error.',
      labelNames: ['operation', 'outcome'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    jobs: new Counter({
      name: 'parley_jobs_total',
      help: 'Jobs by task and what became of them: done, put_off, failed, given_up.',
      labelNames: ['task', 'outcome'] as const,
      registers,
    }),
    pushes: new Counter({
      name: 'parley_pushes_total',
      help: 'Pushes by outcome: accepted or refused by the provider, put_off.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    previews: new Counter({
      name: 'parley_previews_total',
      help: 'Links looked at: found or missed in the network, cached.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    events: new Counter({
      name: 'parley_events_total',
      help: 'Stored events published by this process, each to one topic.',
      registers,
    }),
    sockets: new Gauge({
      name: 'parley_sockets_open',
      help: 'WebSockets open on this process.',
      registers,
    }),
    deliveries: new Counter({
      name: 'parley_deliveries_total',
      help: 'Publications handed to subscriptions, each to one.',
      registers,
    }),
    holes: new Counter({
      name: 'parley_holes_filled_total',
      help: 'Events read from the log since they had not come by themselves: those of other nodes, and missed ones.',
      registers,
    }),
  }
}

/** What the database knows; the answer asks it anew. */
export function observeDatabase(
  { registry }: Pick<Metrics, 'registry'>,
  { db, poolSize }: { db: Db; poolSize: number },
) {
  const registers = [registry]
  const waiting = new Gauge({
    name: 'parley_jobs_waiting',
    help: 'Jobs waiting to be done, and those given up (state dead).',
    labelNames: ['task', 'state'] as const,
    registers,
  })
  const age = new Gauge({
    name: 'parley_jobs_oldest_seconds',
    help: 'For how long the oldest waiting job has been due.',
    labelNames: ['task'] as const,
    registers,
  })
  const connections = new Gauge({
    name: 'parley_database_connections',
    help: "The service's connections to the database, on all nodes, by state.",
    labelNames: ['state'] as const,
    registers,
  })
  const up = new Gauge({
    name: 'parley_database_up',
    help: 'Whether the database answered this time.',
    registers,
  })
  new Gauge({
    name: 'parley_database_pool_size',
    help: 'The most connections that this process lends to operations.',
    registers,
  }).set(poolSize)
  const callers = new Gauge({
    name: 'parley_database_pool_waiting',
    help: 'Those who wait for one of these connections.',
    registers,
  })

  const ask = async () => {
    callers.set(db.waiting())
    for (const gauge of [waiting, age, connections]) gauge.reset()
    const [jobs, states] = await Promise.all([selectJobs(db), selectConnections(db)])
    for (const { task, state, count, oldest } of jobs) {
      waiting.set({ task, state }, count)
      if (state === 'waiting') age.set({ task }, oldest)
    }
    for (const { state, count } of states) connections.set({ state }, count)
  }
  return () =>
    ask().then(
      () => up.set(1),
      () => up.set(0),
    )
}

/** Promises not yet in the queue wait too. The queue's tables are there once a worker was. */
const selectJobs = (db: Db) =>
  db.use(async (db) => {
    const [queue] = await db<
      { exists: boolean }[]
    >`select to_regclass('graphile_worker._private_jobs') is not null as exists`
    const queued = queue?.exists
      ? db`union all select task_identifier, case when attempts < max_attempts or locked_at is not null then 'waiting' else 'dead' end, run_at from graphile_worker.jobs`
      : db``
    return db<{ task: string; state: string; count: number; oldest: number }[]>`
      select task, state, count(*)::int, greatest(extract(epoch from now() - min(due)), 0)::float as oldest
      from (select task, 'waiting' as state, created_at as due from staged_jobs ${queued}) j group by task, state`
  })

const selectConnections = (db: Db) =>
  db.use(
    (db) => db<{ state: string; count: number }[]>`
    select coalesce(state, 'unknown') as state, count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'parley%' group by 1`,
  )
