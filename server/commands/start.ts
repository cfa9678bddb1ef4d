import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { limits } from '@parley/contract'
import { buildApp } from '../app.ts'
import { developmentSecrets, type Secrets } from '../config/dev-secrets.ts'
import { type Config, readConfig } from '../config/index.ts'
import { nameWarnings } from '../config/names.ts'
import { localUrl, withoutPassword, wsUrlOf } from '../config/urls.ts'
import { warningsOf } from '../config/warnings.ts'
import { databaseSpans } from '../core/database-spans.ts'
import { createEventBus } from '../core/event-bus.ts'
import { acceptedTasks, createJobStaging } from '../core/jobs.ts'
import { createLog } from '../core/log-output.ts'
import { createMetrics } from '../core/metrics.ts'
import { loadRedis } from '../core/redis.ts'
import { createShutdown } from '../core/shutdown.ts'
import { createTokens } from '../core/signed-tokens.ts'
import { createDb, type Db } from '../db/client.ts'
import { listen } from '../http/listen.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { levelOf } from '../jobs/log.ts'
import { createProviderPreferences } from '../jobs/push/preferences.ts'
import { watchWorkers } from '../jobs/watch-workers.ts'
import { runProcess, type Stop, type StopFunction, stopWithParent } from '../process/lifecycle.ts'
import { captureConsole, captureTraces, processLog } from '../process/process-log.ts'
import { closePort } from './close-port.ts'
import { throwLate } from './database-error.ts'
import { ensureDemoApp, NO_DEMO_APP } from './demo-app.ts'
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

/** Nothing is to be replaced before there are worker processes. */
let onHangup: (() => void) | undefined

let onStopped = processLog.stopped

/** `parley start`: the server, with its database unless that is given, and its jobs. */
export const start = () =>
  runProcess({
    start: (stop) => startServer(stop).catch(throwLate),
    beforeStop: () => beforeStop(),
    stopFunctions,
    onStopped: (ms) => onStopped(ms),
    onHangup: () => onHangup,
  })

async function startServer(stop: Stop) {
  const config = readConfig()
  if (config.isProduction) captureConsole(config.logLevel, levelOf)
  if (!config.isProduction) captureTraces(config.logLevel, levelOf)
  const worker = handed()
  if (config.isStartedByNpm) stopWithParent(stop)
  const databaseUrl =
    worker?.databaseUrl ??
    config.databaseUrl ??
    (await startEmbedded(config, { stop, stopFunctions }))
  if (worker || config.workers === 1) return serve({ config, worker, databaseUrl, stop })
  const log = createLog(config.logLevel)
  onStopped = (ms) => log.info({ ms }, 'stopped')
  const pool = await startWorkers({ config, databaseUrl, stopFunctions, log })
  beforeStop = pool.stop
  // A hang-up of a terminal that was closed ends the process instead.
  if (!process.stdout.isTTY) onHangup = pool.roll
}

type ServeOptions = Pick<Setup, 'config' | 'worker' | 'databaseUrl'> & { stop: () => void }

/** Serves in this process. */
async function serve({ config, worker, databaseUrl, stop }: ServeOptions) {
  const secrets = config.isProduction ? undefined : developmentSecrets(config.dataDir)
  if (!worker) await prepareDatabase(databaseUrl, config)
  await traceProcess(config, stopFunctions)
  const { poolSize } = config
  const around = databaseSpans()
  const db = createDb({ url: databaseUrl, poolSize, applicationName: 'parley', around })
  stopFunctions.push(() => db.end({ timeout: 3 }))
  const demoApiKey = secrets && (await demoApiKeyOf(secrets, { config, db }))
  const setup = { config, worker, secrets, demoApiKey, databaseUrl, db }
  const server = await createServer(setup)
  const { app, metrics, cleanup } = server
  onStopped = (ms) => app.log.info({ ms }, 'stopped')
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
  // Last: a server that says "Server listening" has everything it needs.
  const { port, host } = config
  await listen(app, { port, host }).catch(listenError({ port, host }))
  beforeStop = () => announceShutdown(config, server)
  announceStart(setup, server)
}

type Setup = {
  worker: Handed | undefined
  config: Config
  secrets: Secrets | undefined
  /** The API key of the demo app, if there is one. */
  demoApiKey: string | undefined
  databaseUrl: string
  db: Db
}
type Server = Awaited<ReturnType<typeof createServer>>

async function demoApiKeyOf({ demoApiKey }: Secrets, { config, db }: Pick<Setup, 'config' | 'db'>) {
  const isThere = await ensureDemoApp(db, { apiKey: demoApiKey, isAsked: config.wantsDemoApp })
  return isThere ? demoApiKey : undefined
}

/** Creates the parts of a server. Nothing runs yet. */
async function createServer(setup: Setup) {
  const { config, worker, secrets, demoApiKey, databaseUrl, db } = setup
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
      demoApiKey,
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
  app.log.info({ ms: shutdownDelayMs }, 'stopping soon: /health answers 503')
  await shutdown.announce(shutdownDelayMs)
}

/** One line of the log in production; addresses and generated keys on the screen elsewhere. */
function announceStart(setup: Setup, server: Server) {
  const { config, worker, secrets, demoApiKey, databaseUrl } = setup
  const { app, publicUrl, wsUrl } = server
  if (worker && !worker.announces) return
  for (const line of [...warningsOf(config, wsUrl()), ...nameWarnings()]) processLog.warn(line)
  if (secrets && demoApiKey === undefined) processLog.warn(NO_DEMO_APP)
  if (config.isProduction) {
    const database = config.databaseUrl === undefined ? withoutPassword(databaseUrl) : undefined
    const urls = { baseUrl: publicUrl(), webSocket: wsUrl(), database }
    app.log.info({ ...urls, version: limits.apiVersion, machine: hostname() }, 'started')
  } else print({ 'Base URL': publicUrl(), WebSocket: wsUrl() })
  if (secrets)
    print({
      Docs: `${publicUrl()}/docs`,
      ...(demoApiKey !== undefined && { Playground: `${publicUrl()}/playground` }),
      ...(config.hasConsole && { Console: `${publicUrl()}/console` }),
      // For psql, and for pg_dump: it is the way out of the embedded database.
      ...(config.databaseUrl === undefined && { Database: databaseUrl }),
      // A key that was given is not for the screen, nor for the logs that it ends up in.
      ...(config.adminKey === undefined && { 'Admin key': secrets.adminKey }),
      ...(demoApiKey !== undefined && { 'Demo API key': demoApiKey }),
    })
}

const portOf = (address: AddressInfo | string | null) =>
  typeof address === 'object' ? (address?.port ?? '') : ''

/** Gives calls in progress some time to finish. */
async function closeInTime(app: ReturnType<typeof buildApp>) {
  await closePort(app.server)
  const timer = setTimeout(() => app.server.closeAllConnections(), 6_000)
  await app.close()
  clearTimeout(timer)
}

const print = (lines: Record<string, string>) => {
  for (const [name, value] of Object.entries(lines)) console.log(`${`${name}:`.padEnd(14)}${value}`)
}
