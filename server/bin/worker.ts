import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { readEnv } from '../config.ts'
import type { Outlet } from '../core/event-bus.ts'
import { createOutbox } from '../core/jobs.ts'
import { createMetrics, type Metrics } from '../core/metrics.ts'
import { connect } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import { startMetrics } from '../http/metrics.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { live, type Stops, stopWithParent } from '../lifecycle.ts'
import type { Broker } from '../realtime/broker.ts'
import { hintOf } from '../realtime/hints.ts'
import { createPostgresBroker } from '../realtime/postgres-broker.ts'

/** Carries out the jobs of servers that run with JOBS=external, on their database and with their configuration. */
const stops: Stops = []

async function start(stop: () => void) {
  const env = readEnv()
  if (env.isStartedByNpm) stopWithParent(stop)
  const { databaseUrl } = env
  if (databaseUrl === undefined)
    throw new Error('DATABASE_URL: required by a worker, which shares the database of its servers')
  await migrate(databaseUrl)
  const db = connect({ url: databaseUrl, poolSize: env.poolSize, applicationName: 'parley-worker' })
  stops.push(() => db.end({ timeout: 3 }))
  const metrics = createMetrics()
  const log = pino({ level: env.logLevel, base: null })
  const broker = createPostgresBroker({
    url: databaseUrl,
    nodeId: randomUUID(),
    report: (error, problem) => log.warn({ err: error }, problem),
  })
  stops.push(() => broker.stop())
  const outlet = outletTo(broker, metrics)
  const cleanup = createCleanup({
    db,
    outlet,
    onError: (error) => log.error({ err: error }, 'clean-up failed'),
  })
  stops.push(cleanup.stop)
  stops.push(
    await startJobs({
      ...env,
      db,
      databaseUrl,
      outbox: createOutbox([]),
      outlet,
      metrics,
      cleanup,
      log,
    }),
  )
  if (env.metricsPort !== undefined)
    stops.push(
      await startMetrics(metrics, {
        db,
        poolSize: env.poolSize,
        port: env.metricsPort,
        host: env.host,
      }),
    )
  log.info('carrying out jobs')
}

/** A worker has no sockets of its own: it tells the nodes that have. */
const outletTo = (broker: Broker, { events: published }: Pick<Metrics, 'events'>): Outlet => ({
  publish: (events) => {
    published.inc(events.length)
    for (const event of events) broker.send(hintOf(event))
  },
  signal: broker.send,
})

live({ start, stops })
