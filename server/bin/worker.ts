import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import { createJobStaging } from '../core/jobs.ts'
import { createMetrics, type Metrics } from '../core/metrics.ts'
import { createDb } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import { startMetrics } from '../http/metrics.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { runProcess, type Stops, stopWithParent } from '../lifecycle.ts'
import type { Broker } from '../realtime/broker.ts'
import { hintOf } from '../realtime/hints.ts'
import { createPostgresBroker } from '../realtime/postgres-broker.ts'

/** Carries out the jobs of servers that run with JOBS=external, on their database and with their configuration. */
const stops: Stops = []

async function start(stop: () => void) {
  const config = readConfig()
  if (config.isStartedByNpm) stopWithParent(stop)
  const { databaseUrl } = config
  if (databaseUrl === undefined)
    throw new Error('DATABASE_URL: required by a worker, which shares the database of its servers')
  await migrate(databaseUrl)
  const db = createDb({
    url: databaseUrl,
    poolSize: config.poolSize,
    applicationName: 'parley-worker',
  })
  stops.push(() => db.end({ timeout: 3 }))
  const metrics = createMetrics()
  const log = pino({ level: config.logLevel, base: null })
  const broker = createPostgresBroker({
    url: databaseUrl,
    nodeId: randomUUID(),
    report: (error, problem) => log.warn({ err: error }, problem),
  })
  stops.push(() => broker.stop())
  const publisher = outletTo(broker, metrics)
  const cleanup = createCleanup({
    db,
    publisher,
    onError: (error) => log.error({ err: error }, 'clean-up failed'),
  })
  stops.push(cleanup.stop)
  stops.push(
    await startJobs({
      ...config,
      db,
      databaseUrl,
      staging: createJobStaging([]),
      publisher,
      metrics,
      cleanup,
      log,
    }),
  )
  if (config.metricsPort !== undefined)
    stops.push(
      await startMetrics(metrics, {
        db,
        poolSize: config.poolSize,
        port: config.metricsPort,
        host: config.host,
      }),
    )
  log.info('carrying out jobs')
}

/** A worker has no sockets of its own: it tells the nodes that have. */
const outletTo = (
  broker: Broker,
  { events: published }: Pick<Metrics, 'events'>,
): EventPublisher => ({
  publish: (events) => {
    published.inc(events.length)
    for (const event of events) broker.send(hintOf(event))
  },
  broadcast: broker.send,
})

runProcess({ start, stops })
