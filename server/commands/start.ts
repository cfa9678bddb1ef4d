import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { limits } from '@parley/contract'
import { pino } from 'pino'
import { buildApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { warningsOf } from '../config-warnings.ts'
import { databaseSpans } from '../core/database-spans.ts'
import { createEventBus } from '../core/event-bus.ts'
import { sha256 } from '../core/hash.ts'
import { logFormat } from '../core/log-format.ts'
import { acceptedTasks, createJobStaging } from '../core/jobs.ts'
import { createMetrics } from '../core/metrics.ts'
import { loadRedis } from '../core/redis.ts'
import { createShutdown } from '../core/shutdown.ts'
import { createTokens } from '../core/tokens.ts'
import { createDb, type Db } from '../db/client.ts'
import { inSchema, locks } from '../db/locks.ts'
import { transaction } from '../db/transaction.ts'
import { developmentSecrets } from '../dev-secrets.ts'
import { createApp } from '../features/apps/create.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { levelOf } from '../jobs/log.ts'
import { createProviderPreferences } from '../jobs/push/preferences.ts'
import { watchWorkers } from '../jobs/watch-workers.ts'
import { runProcess, type Stop, type StopFunction, stopWithParent } from '../lifecycle.ts'
import { captureConsole, processLog } from '../process-log.ts'
import { localUrl, wsUrlOf } from '../urls.ts'
import { listenError } from './listen-error.ts'
import { prepareDatabase } from './open.ts'
import { serveMetrics } from './serve-metrics.ts'
import { startEmbedded } from './start-embedded.ts'
import { startWorkers } from './start-workers.ts'
import { traceProcess } from './trace-process.ts'
import { type Handed, handed } from './worker-link.ts'
import { followFirstProcess, runsJobs } from './worker-process.ts'

const stopFunctions: StopFunction[] = []
/** Nothing is announced before the server listens. */
let beforeStop = async () => {}

/** Before it has a log, an end is no news. */
let onStopped = (_: number) => {}

/** Nothing is to be replaced before there are worker processes. */
let onHangup: (() => void) | undefined

/** `parley start`: the server, with its database unless that is given, and its jobs. */
export const start = () =>
  runProcess({
    onStopped: (ms) => onStopped(ms),
    start: startServer,
    beforeStop: () => beforeStop(),
    stopFunctions,
    onHangup: () => onHangup,
  })

async function startServer(stop: Stop) {
  const config = readConfig()
  if (config.isProduction) captureConsole(config.logLevel, levelOf)
  const worker = handed()
  if (config.isStartedByNpm) stopWithParent(stop)
  const databaseUrl =
    worker?.databaseUrl ??
    config.databaseUrl ??
    (await startEmbedded(config, { stop, stopFunctions }))
  if (worker || config.workers === 1) return serve({ config, worker, databaseUrl, stop })
  onStopped = (ms) => log.info({ ms }, 'stopped')
  const log = pino(logFormat(config.logLevel))
  const pool = await startWorkers({ config, databaseUrl, stopFunctions, log })
  beforeStop = pool.stop
  // A hang-up of a terminal that was closed ends the process instead.
  if (!process.stdout.isTTY) onHangup = pool.roll
}

type Given = Pick<Setup, 'config' | 'worker' | 'databaseUrl'> & { stop: () => void }

/** Serves in this process. */
async function serve({ config, worker, databaseUrl, stop }: Given) {
  const secrets = config.isProduction ? undefined : developmentSecrets(config.dataDir)
  if (!worker) await prepareDatabase(databaseUrl, config)
  await traceProcess(config, stopFunctions)
  const { poolSize } = config
  const around = databaseSpans()
  const db = createDb({ url: databaseUrl, poolSize, applicationName: 'parley', around })
  stopFunctions.push(() => db.end({ timeout: 3 }))
  const setup = { config, worker, secrets, databaseUrl, db }
  onStopped = (ms) => app.log.info({ ms }, 'stopped')
  const server = await createServer(setup)
  const { app, metrics, cleanup } = server
  // Unless jobs are off, the cleanup runs as one of them.
  const cleansUp = config.jobs === 'off' && runsJobs(worker)
  stopFunctions.push(cleansUp ? cleanup.start() : cleanup.stop)
  stopFunctions.push(() => closeInTime(app))
  await app.ready()

  await startBackground(setup, server)
  if (worker)
    onHangup = followFirstProcess(setup, {
      ...server,
      stopFunctions,
      stop: (before) => {
        beforeStop = before ?? beforeStop
        stop()
      },
    })
  else stopFunctions.push(...(await serveMetrics({ config, metrics, db, databaseUrl })))
  if (secrets) await ensureDemoApp(db, secrets.demoApiKey)
  // Last: a server that says "Server listening" has everything it needs.
  const { port, host } = config
  await app.listen({ port, host }).catch(listenError({ port, host }))
  beforeStop = () => announceShutdown(config, server)
  announceStart(setup, server)
}

type Setup = {
  worker: Handed | undefined
  config: Config
  secrets: ReturnType<typeof developmentSecrets> | undefined
  databaseUrl: string
  db: Db
}
type Server = Awaited<ReturnType<typeof createServer>>

/** Creates the parts of a server. Nothing runs yet. */
async function createServer({ config, worker, secrets, databaseUrl, db }: Setup) {
  const jwtSecret = config.jwtSecret ?? secrets?.jwtSecret ?? ''
  const tokens = await createTokens([jwtSecret, ...config.previousJwtSecrets])
  const adminKey = config.adminKey ?? secrets?.adminKey
  const publicUrl = () => config.publicUrl ?? localUrl(config.host, portOf(app.server.address()))
  const wsUrl = () => wsUrlOf(publicUrl())

  const metrics = createMetrics()
  const bus = createEventBus()
  const { publisher } = bus
  const shutdown = createShutdown()
  const redis = config.redis && {
    ...config.redis,
    connect: await loadRedis(config.redis.target),
  }
  const staging = createJobStaging(
    acceptedTasks({ isOn: config.jobs !== 'off', hasPush: config.push !== undefined }),
  )
  const cleanup = createCleanup({
    db,
    publisher,
    metrics,
    staging,
    purgeEmptyAfterDays: config.purgeEmptyAfterDays,
    auditRetentionDays: config.auditRetentionDays,
    onError: (error, task) =>
      app.log[levelOf(error, 'error')]({ err: error, task }, 'cleanup failed'),
  })
  const workers = config.jobs === 'external' ? watchWorkers({ db }) : undefined
  const app = buildApp({
    db,
    metrics,
    bus,
    shutdown,
    http: {
      ...config,
      worker: worker?.number,
      hasDocsPage: !config.isProduction,
      demoApiKey: secrets?.demoApiKey,
    },
    access: { tokens, adminKey, userAdminAccess: config.userAdminAccess },
    urls: { publicUrl, wsUrl, inviteUrl: config.inviteUrl },
    webhooks: config.webhooks,
    jobs: {
      erasure: cleanup,
      staging,
      workers: workers?.state,
      providerPreferences: createProviderPreferences(config.push),
    },
    realtime: { ...config, databaseUrl },
    redis,
  })
  return { app, metrics, publisher, shutdown, staging, cleanup, workers, publicUrl, wsUrl }
}

/** Starts the jobs of this process, or watches that another one runs them. */
async function startBackground({ config, worker, databaseUrl, db }: Setup, server: Server) {
  const { workers, staging, publisher, metrics, cleanup } = server
  const { log } = server.app
  if (workers) stopFunctions.push(workers.start(log))
  if (config.jobs === 'on' && runsJobs(worker))
    stopFunctions.push(
      await startJobs({ ...config, db, databaseUrl, staging, publisher, metrics, cleanup, log }),
    )
}

async function announceShutdown({ shutdownDelayMs }: Config, { app, shutdown }: Server) {
  if (shutdownDelayMs === 0) return
  app.log.info({ milliseconds: shutdownDelayMs }, 'stopping soon: /health answers 503')
  await shutdown.announce(shutdownDelayMs)
}

/** One line of the log in production; addresses and generated keys on the screen elsewhere. */
function announceStart({ config, worker, secrets, databaseUrl }: Setup, server: Server) {
  const { app, publicUrl, wsUrl } = server
  if (worker && !worker.announces) return
  for (const line of warningsOf(config, wsUrl())) processLog.warn(line)
  if (config.isProduction) {
    const urls = { baseUrl: publicUrl(), webSocket: wsUrl() }
    app.log.info({ ...urls, version: limits.apiVersion, machine: hostname() }, 'started')
  } else print({ 'Base URL': publicUrl(), WebSocket: wsUrl() })
  if (secrets)
    print({
      Docs: `${publicUrl()}/docs`,
      Playground: `${publicUrl()}/playground`,
      ...(config.hasConsole && { Console: `${publicUrl()}/console` }),
      // For psql, and for pg_dump: it is the way out of the embedded database.
      ...(config.databaseUrl === undefined && { Database: databaseUrl }),
      // A key that was given is not for the screen, nor for the logs that it ends up in.
      ...(config.adminKey === undefined && { 'Admin key': secrets.adminKey }),
      'Demo API key': secrets.demoApiKey,
    })
}

const portOf = (address: AddressInfo | string | null) =>
  typeof address === 'object' ? (address?.port ?? '') : ''

/** Gives calls in progress some time to finish. */
async function closeInTime(app: ReturnType<typeof buildApp>) {
  const timer = setTimeout(() => app.server.closeAllConnections(), 6_000)
  await app.close()
  clearTimeout(timer)
}

/**
 * Creates an app to try things out with. Its key stays the same across restarts. The lock lets two
 * nodes that start at once create only one.
 */
const ensureDemoApp = (db: Db, apiKey: string) =>
  db.use((db) =>
    transaction(db, async (tx) => {
      await tx`select pg_advisory_xact_lock(${locks.demoApp}, ${inSchema(tx)})`
      const [existing] = await tx`
        select
        from api_keys ak
        where ak.hash = ${sha256(apiKey)}`
      if (!existing) await createApp(tx, 'Demo', apiKey)
    }),
  )

const print = (lines: Record<string, string>) => {
  for (const [name, value] of Object.entries(lines)) console.log(`${`${name}:`.padEnd(14)}${value}`)
}
