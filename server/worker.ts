import { pino } from 'pino'
import { connect } from './db/client.ts'
import { migrate } from './db/migrate.ts'
import { readEnv } from './env.ts'
import { startMetrics } from './http/metrics.ts'
import { startJobs } from './jobs/index.ts'
import { live, type Stops } from './life.ts'
import { createMetrics } from './metrics.ts'
import { createOutbox } from './outbox.ts'

/** Carries out the jobs of servers that run with JOBS=external, on their database and with their configuration. */
const stops: Stops = []

async function start() {
  const env = readEnv()
  const { databaseUrl } = env
  if (databaseUrl === undefined) throw new Error('DATABASE_URL: required by a worker, which shares the database of its servers')
  await migrate(databaseUrl)
  const db = connect({ url: databaseUrl, poolSize: env.poolSize, applicationName: 'parley-worker' })
  stops.push(() => db.end({ timeout: 3 }))
  const metrics = createMetrics()
  const log = pino({ level: env.logLevel, base: null })
  stops.push(await startJobs({ ...env, db, databaseUrl, outbox: createOutbox([]), metrics, log }))
  if (env.metricsPort !== undefined) stops.push(await startMetrics(metrics, { db, poolSize: env.poolSize, port: env.metricsPort, host: env.host }))
  log.info('carrying out jobs')
}

live({ start, stops })
