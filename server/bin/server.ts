import type { AddressInfo } from 'node:net'
import { endpointPath } from '@parley/contract'
import { buildApp } from '../app.ts'
import { type Config, readConfig, warningsOf } from '../config.ts'
import { createEventBus } from '../core/event-bus.ts'
import { sha256 } from '../core/hash.ts'
import { acceptedTasks, createJobStaging } from '../core/jobs.ts'
import { createMetrics } from '../core/metrics.ts'
import { createTokens } from '../core/tokens.ts'
import { createDb, type Db } from '../db/client.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { inSchema, locks } from '../db/locks.ts'
import { migrate } from '../db/migrate.ts'
import { transaction } from '../db/transaction.ts'
import { whenReady } from '../db/when-ready.ts'
import { developmentSecrets } from '../dev-secrets.ts'
import { createApp } from '../features/apps.ts'
import { startMetricsServer } from '../http/metrics-server.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { createProviderPreferences } from '../jobs/push/preferences.ts'
import { watchWorkers } from '../jobs/watch-workers.ts'
import { errorMessage, runProcess, type StopFunction, stopWithParent } from '../lifecycle.ts'

/** `npm start`: the server, with its database unless that is given, and its jobs. */
const stopFunctions: StopFunction[] = []

async function start(stop: (exitCode?: number) => void) {
  const config = readConfig()
  if (config.isStartedByNpm) stopWithParent(stop)
  const secrets = config.isProduction ? undefined : developmentSecrets(config.dataDir)
  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, stop))
  const db = await openDatabase(databaseUrl, config)

  const jwtSecret = config.jwtSecret ?? secrets?.jwtSecret ?? ''
  const tokens = await createTokens([jwtSecret, ...config.previousJwtSecrets])
  const adminKey = config.adminKey ?? secrets?.adminKey
  const publicUrl = () => config.publicUrl ?? localUrl(config.host, app.server.address())
  const wsUrl = () => `${publicUrl().replace(/^http/, 'ws')}${endpointPath}`

  const metrics = createMetrics()
  const bus = createEventBus()
  const staging = createJobStaging(
    acceptedTasks({ isOn: config.jobs !== 'off', hasPush: config.push !== undefined }),
  )
  const cleanup = createCleanup({
    db,
    publisher: bus.publisher,
    metrics,
    purgeEmptyAfterDays: config.purgeEmptyAfterDays,
    onError: (error, task) => app.log.error({ err: error, task }, 'cleanup failed'),
  })
  const workers = config.jobs === 'external' ? watchWorkers({ db }) : undefined
  const app = buildApp({
    db,
    metrics,
    bus,
    http: { ...config, hasDocsPage: !config.isProduction, demoApiKey: secrets?.demoApiKey },
    access: { tokens, adminKey, userAdminAccess: config.userAdminAccess },
    urls: { publicUrl, wsUrl, inviteUrl: config.inviteUrl },
    jobs: {
      erasure: cleanup,
      staging,
      workers: workers?.state,
      providerPreferences: createProviderPreferences(config.push),
    },
    realtime: { ...config, databaseUrl },
  })
  // Unless jobs are off, the cleanup runs as one of them.
  stopFunctions.push(config.jobs === 'off' ? cleanup.start() : cleanup.stop)
  stopFunctions.push(() => closeInTime(app))
  await app.ready()

  if (workers) stopFunctions.push(workers.start(app.log))
  if (config.jobs === 'on') {
    const { log } = app
    const { publisher } = bus
    stopFunctions.push(
      await startJobs({ ...config, db, databaseUrl, staging, publisher, metrics, cleanup, log }),
    )
  }
  if (config.metricsPort !== undefined) {
    const options = { db, poolSize: config.poolSize, port: config.metricsPort, host: config.host }
    const metricsServer = await startMetricsServer(metrics, options)
    stopFunctions.push(metricsServer.stop)
  }
  if (secrets) await ensureDemoApp(db, secrets.demoApiKey)
  // Last, so that what says "Server listening" has everything it needs.
  await app.listen({ port: config.port, host: config.host })

  warningsOf(config, wsUrl()).forEach(warn)
  print({ 'Base URL': publicUrl(), WebSocket: wsUrl() })
  if (secrets)
    print({
      Docs: `${publicUrl()}/docs`,
      Playground: `${publicUrl()}/playground`,
      // A key that was given is not for the screen, nor for the logs that it ends up in.
      ...(config.adminKey === undefined && { 'Admin key': secrets.adminKey }),
      'Demo API key': secrets.demoApiKey,
    })
}

async function startEmbedded({ dataDir, isProduction }: Config, stop: (exitCode: number) => void) {
  if (isProduction)
    warn('DATABASE_URL is unset: using the embedded PostgreSQL, which is meant for development.')
  const postgres = await startEmbeddedPostgres({
    dataDir,
    onNotice: (line) => console.log(line),
    onLost: (error) => {
      console.error(errorMessage(error))
      stop(1)
    },
  })
  stopFunctions.push(() => postgres.stop())
  return postgres.url
}

async function openDatabase(url: string, { poolSize, waitSeconds }: Config): Promise<Db> {
  const onWait = (reason: unknown) =>
    warn(`waiting up to ${waitSeconds} s for the database: ${errorMessage(reason)}`)
  await whenReady(() => migrate(url), { waitSeconds, onWait }).catch((error) => {
    throw new Error(`The database cannot be used: ${errorMessage(error)}`)
  })
  const db = createDb({ url, poolSize, applicationName: 'parley' })
  stopFunctions.push(() => db.end({ timeout: 3 }))
  return db
}

/** The server's URL on this machine. A host that means all addresses cannot be connected to. */
function localUrl(host: string, address: AddressInfo | string | null) {
  const port = typeof address === 'object' ? address?.port : ''
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  const isIPv6 = host.includes(':')
  return `http://${isIPv6 ? `[${host}]` : host}:${port}`
}

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

const warn = (line: string) => console.warn(`Warning: ${line}`)

runProcess({ start, stopFunctions })
