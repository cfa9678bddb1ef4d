import type { AddressInfo } from 'node:net'
import { buildApp } from '../app.ts'
import { type Env, readEnv } from '../config.ts'
import { createRelay } from '../core/event-bus.ts'
import { sha256 } from '../core/hash.ts'
import { createOutbox, tasksFor } from '../core/jobs.ts'
import { createMetrics } from '../core/metrics.ts'
import { createTokens } from '../core/tokens.ts'
import { connect, type Db } from '../db/client.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { locks } from '../db/locks.ts'
import { migrate } from '../db/migrate.ts'
import { developmentSecrets } from '../dev-secrets.ts'
import { createApp } from '../features/apps.ts'
import { startMetrics } from '../http/metrics.ts'
import { createCleanup } from '../jobs/cleanup.ts'
import { startJobs } from '../jobs/index.ts'
import { createProviderPreferences } from '../jobs/push/preferences.ts'
import { describe, live, type Stops, stopWithParent } from '../lifecycle.ts'

/** Starts everything, in order. */
const stops: Stops = []

async function start(stop: () => void) {
  const env = readEnv()
  if (env.isStartedByNpm) stopWithParent(stop)
  const secrets = env.isProduction ? undefined : developmentSecrets(env.dataDir)
  const databaseUrl = env.databaseUrl ?? (await startEmbedded(env))
  const db = await openDatabase(databaseUrl, env)
  const tokens = await createTokens([
    env.jwtSecret ?? secrets?.jwtSecret ?? '',
    ...env.previousJwtSecrets,
  ])
  const adminKey = env.adminKey ?? secrets?.adminKey
  const publicUrl = () => env.publicUrl ?? localUrl(env.host, app.server.address())
  const wsUrl = () => `${publicUrl().replace(/^http/, 'ws')}/connection/websocket`

  const relay = createRelay()
  const cleanup = createCleanup({
    db,
    outlet: relay.outlet,
    onError: (error) => app.log.error({ err: error }, 'clean-up failed'),
  })
  const metrics = createMetrics()
  const outbox = createOutbox(
    tasksFor({ isOn: env.jobs !== 'off', hasPush: env.push !== undefined }),
  )
  const app = buildApp({
    ...env,
    db,
    databaseUrl,
    relay,
    metrics,
    tokens,
    adminKey,
    cleanup,
    outbox,
    providerPreferences: createProviderPreferences(env.push),
    publicUrl,
    wsUrl,
    hasDocsPage: !env.isProduction,
    demoApiKey: secrets?.demoApiKey,
  })
  // Where jobs are carried out it is one of them.
  stops.push(env.jobs === 'off' ? cleanup.start() : cleanup.stop, () => closeInTime(app))
  await app.listen({ port: env.port, host: env.host })
  if (env.jobs === 'on')
    stops.push(
      await startJobs({
        ...env,
        db,
        databaseUrl,
        outbox,
        outlet: relay.outlet,
        metrics,
        cleanup,
        log: app.log,
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
  if (secrets) await ensureDemoApp(db, secrets.demoApiKey)
  if (env.isProduction && env.publicUrl === undefined)
    warn(`PUBLIC_URL is unset: clients are told to connect to ${wsUrl()}`)
  if (env.userAdminAccess === 'bearer')
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

async function openDatabase(url: string, { poolSize }: Env): Promise<Db> {
  await migrate(url).catch((error) => {
    throw new Error(`The database can not be used: ${describe(error)}`)
  })
  const db = connect({ url, poolSize, applicationName: 'parley' })
  stops.push(() => db.end({ timeout: 3 }))
  return db
}

async function startEmbedded({ dataDir, isProduction }: Env) {
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

live({ start, stops })
