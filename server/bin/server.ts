import type { AddressInfo } from 'node:net'
import { endpointPath } from '@parley/contract'
import { buildApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { createEventBus } from '../core/event-bus.ts'
import { sha256 } from '../core/hash.ts'
import { acceptedTasks, createJobStaging } from '../core/jobs.ts'
import { createMetrics } from '../core/metrics.ts'
import { createTokens } from '../core/tokens.ts'
import { createDb, type Db } from '../db/client.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { locks } from '../db/locks.ts'
import { migrate } from '../db/migrate.ts'
import { developmentSecrets } from '../dev-secrets.ts'
import { createApp } from '../features/apps.ts'
import { startMetrics } from '../http/metrics.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { createProviderPreferences } from '../jobs/push/preferences.ts'
import { errorMessage, runProcess, type Stops, stopWithParent } from '../lifecycle.ts'

/** Starts everything, in order. */
const stops: Stops = []

async function start(stop: () => void) {
  const config = readConfig()
  if (config.isStartedByNpm) stopWithParent(stop)
  const secrets = config.isProduction ? undefined : developmentSecrets(config.dataDir)
  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config))
  const db = await openDatabase(databaseUrl, config)
  const tokens = await createTokens([
    config.jwtSecret ?? secrets?.jwtSecret ?? '',
    ...config.previousJwtSecrets,
  ])
  const adminKey = config.adminKey ?? secrets?.adminKey
  const publicUrl = () => config.publicUrl ?? localUrl(config.host, app.server.address())
  const wsUrl = () => `${publicUrl().replace(/^http/, 'ws')}${endpointPath}`

  const bus = createEventBus()
  const cleanup = createCleanup({
    db,
    publisher: bus.publisher,
    onError: (error) => app.log.error({ err: error }, 'clean-up failed'),
  })
  const metrics = createMetrics()
  const staging = createJobStaging(
    acceptedTasks({ isOn: config.jobs !== 'off', hasPush: config.push !== undefined }),
  )
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
      providerPreferences: createProviderPreferences(config.push),
    },
    realtime: { databaseUrl, presenceGraceSeconds: config.presenceGraceSeconds },
  })
  // Where jobs are carried out it is one of them.
  stops.push(config.jobs === 'off' ? cleanup.start() : cleanup.stop, () => closeInTime(app))
  await app.listen({ port: config.port, host: config.host })
  if (config.jobs === 'on')
    stops.push(
      await startJobs({
        ...config,
        db,
        databaseUrl,
        staging,
        publisher: bus.publisher,
        metrics,
        cleanup,
        log: app.log,
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
  if (secrets) await ensureDemoApp(db, secrets.demoApiKey)
  if (config.isProduction && config.publicUrl === undefined)
    warn(`PUBLIC_URL is unset: clients are told to connect to ${wsUrl()}`)
  if (config.userAdminAccess === 'bearer')
    warn(
      'USER_ADMIN_ACCESS=bearer: any user may change and delete the others of its app. In production prefer "server".',
    )
  print({ 'Base URL': publicUrl(), WebSocket: wsUrl() })
  if (secrets)
    print({
      Docs: `${publicUrl()}/docs`,
      Playground: `${publicUrl()}/playground`,
      'Admin key': adminKey,
      'Demo API key': secrets.demoApiKey,
    })
}

async function openDatabase(url: string, { poolSize }: Config): Promise<Db> {
  await migrate(url).catch((error) => {
    throw new Error(`The database can not be used: ${errorMessage(error)}`)
  })
  const db = createDb({ url, poolSize, applicationName: 'parley' })
  stops.push(() => db.end({ timeout: 3 }))
  return db
}

async function startEmbedded({ dataDir, isProduction }: Config) {
  if (isProduction)
    warn(
      'DATABASE_URL is unset: using the embedded PostgreSQL. For production prefer a server of your own.',
    )
  const postgres = await startEmbeddedPostgres({ dataDir, onNotice: (line) => console.log(line) })
  stops.push(() => postgres.stop())
  return postgres.url
}

/** An app to try things with; its key stays the same over restarts. Two nodes that start at once make one. */
const ensureDemoApp = (db: Db, apiKey: string) =>
  db.use((db) =>
    db.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${locks.demoApp})`
      const [known] = await tx`select from api_keys where hash = ${sha256(apiKey)}`
      if (!known) await createApp(tx, 'Demo', apiKey)
    }),
  )

/** Where this machine reaches the server: "all addresses" is none to go to. */
function localUrl(host: string, address: AddressInfo | string | null) {
  const name = ['0.0.0.0', '::'].includes(host)
    ? 'localhost'
    : host.includes(':')
      ? `[${host}]`
      : host
  return `http://${name}:${typeof address === 'object' ? address?.port : ''}`
}

/** Calls in progress may end, if they do. */
async function closeInTime(app: ReturnType<typeof buildApp>) {
  const timer = setTimeout(() => app.server.closeAllConnections(), 6_000)
  await app.close()
  clearTimeout(timer)
}

const print = (lines: Record<string, string | undefined>) => {
  for (const [name, value] of Object.entries(lines)) console.log(`${`${name}:`.padEnd(14)}${value}`)
}

const warn = (line: string) => console.warn(`Warning: ${line}`)

runProcess({ start, stops })
