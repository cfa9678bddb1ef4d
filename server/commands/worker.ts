import { randomUUID } from 'node:crypto'
import { readConfig } from '../config/index.ts'
import { databaseSpans } from '../core/database-spans.ts'
import { acceptedTasks, createJobStaging } from '../core/jobs.ts'
import { createLog } from '../core/log-output.ts'
import { createMetrics } from '../core/metrics.ts'
import { loadRedis } from '../core/redis.ts'
import { createDb } from '../db/client.ts'
import { logOutages } from '../db/outages.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { levelOf } from '../jobs/log.ts'
import { runProcess, type StopFunction, stopWithParent } from '../process/lifecycle.ts'
import { captureConsole, captureTraces, processLog } from '../process/process-log.ts'
import { createNodeBroker } from '../realtime/broker/node-broker.ts'
import { createWorkerPublisher } from '../realtime/worker-publisher.ts'
import { throwLate } from './database-error.ts'
import { prepareSchema } from './open.ts'
import { serveMetrics } from './serve-metrics.ts'
import { traceProcess } from './trace-process.ts'

const stopFunctions: StopFunction[] = []

/** `parley worker`: runs the jobs of servers with JOBS=external, on their database. */
export const startWorker = () =>
  runProcess({
    start: (stop) => start(stop).catch(throwLate),
    stopFunctions,
    onStopped: (ms) => onStopped(ms),
  })

let onStopped = processLog.stopped

async function start(stop: () => void) {
  const config = readConfig()
  if (config.isProduction) captureConsole(config.logLevel, levelOf)
  if (!config.isProduction) captureTraces(config.logLevel, levelOf)
  if (config.isStartedByNpm) stopWithParent(stop)
  const { databaseUrl, poolSize } = config
  if (databaseUrl === undefined)
    throw new Error('DATABASE_URL: required by a worker, which shares the database of its servers')
  await prepareSchema(databaseUrl, config)
  await traceProcess(config, stopFunctions)
  const db = createDb({
    url: databaseUrl,
    poolSize,
    applicationName: 'parley-worker',
    around: databaseSpans(),
  })
  stopFunctions.push(() => db.end({ timeout: 3 }))

  const metrics = createMetrics()
  const nodeId = randomUUID()
  const log = createLog(config.logLevel, nodeId)
  onStopped = (ms) => log.info({ ms }, 'stopped')
  logOutages(db.outages, log)
  const report = (error: unknown, problem: string) => log[levelOf(error)]({ err: error }, problem)
  const broker = createNodeBroker({
    databaseUrl,
    redis: config.redis && { ...config.redis, connect: await loadRedis(config.redis.target) },
    hasSockets: false,
    nodeId,
    log,
    metrics,
    report,
  })
  stopFunctions.push(() => broker.stop())
  const { publisher, stop: stopPublisher } = createWorkerPublisher({
    ...{ db, nodeId, broker, metrics, report },
  })
  stopFunctions.push(stopPublisher)
  const cleanup = createCleanup({
    db,
    publisher,
    metrics,
    staging: createJobStaging(acceptedTasks({ isOn: true, hasPush: config.push !== undefined })),
    purgeEmptyAfterDays: config.purgeEmptyAfterDays,
    auditRetentionDays: config.auditRetentionDays,
    onError: (error, task) => log[levelOf(error, 'error')]({ err: error, task }, 'cleanup failed'),
  })
  stopFunctions.push(cleanup.stop)

  const stopJobs = await startJobs({
    ...config,
    db,
    databaseUrl,
    staging: createJobStaging([]),
    publisher,
    metrics,
    cleanup,
    log,
  })
  stopFunctions.push(stopJobs)
  stopFunctions.push(...(await serveMetrics({ config, metrics, db, databaseUrl })))
  log.info('worker started')
}
