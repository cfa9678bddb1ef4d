import { join } from 'node:path'
import { buildApp } from './app.ts'
import { createCleanup } from './cleanup.ts'
import { connect, type Db } from './db/client.ts'
import { startEmbeddedPostgres } from './db/embedded/index.ts'
import { migrate } from './db/migrate.ts'
import { type Env, readEnv } from './env.ts'
import { createApp } from './features/apps.ts'
import { developmentSecrets } from './secrets.ts'
import { createTokens, sha256 } from './tokens.ts'

/** Starts everything, in order; whatever was started is stopped in reverse order, on a signal or on a failure. */
const stops: (() => Promise<unknown>)[] = []
const stopAll = async () => {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop().catch((error) => console.error(error))
}

async function start() {
  const env = readEnv()
  const secrets = env.isProduction ? undefined : developmentSecrets(env.dataDir)
  const db = await openDatabase(env)
  const tokens = await createTokens([env.jwtSecret ?? secrets?.jwtSecret ?? '', ...env.previousJwtSecrets])
  const adminKey = env.adminKey ?? secrets?.adminKey
  const publicUrl = env.publicUrl ?? `http://${env.host}:${env.port}`
  const wsUrl = `${publicUrl.replace(/^http/, 'ws')}/connection/websocket`

  if (env.userAdminAccess === 'bearer') console.warn('USER_ADMIN_ACCESS=bearer: every user token may change and delete every user of its app. For production use "server".')
  const cleanup = createCleanup({ db, onError: (error) => app.log.error({ err: error }, 'clean-up failed') })
  const app = buildApp({ ...env, db, tokens, adminKey, wsUrl, publicUrl, cleanup })
  stops.push(cleanup.start(), () => app.close())
  await app.listen({ port: env.port, host: env.host })
  print({ 'Base URL': publicUrl, WebSocket: wsUrl })
  if (!secrets) return
  await ensureDemoApp(db, secrets.demoApiKey)
  print({ Docs: `${publicUrl}/docs`, 'Admin key': adminKey, 'Demo API key': secrets.demoApiKey })
}

async function openDatabase({ databaseUrl, dataDir, poolSize, isProduction }: Env): Promise<Db> {
  if (databaseUrl === undefined && isProduction) console.warn('DATABASE_URL is unset: using the embedded PostgreSQL. For production prefer a server of your own.')
  const url = databaseUrl ?? (await startEmbedded(dataDir))
  await migrate(url)
  const db = connect({ url, poolSize, applicationName: 'parley' })
  stops.push(() => db.end({ timeout: 3 }))
  return db
}

async function startEmbedded(dataDir: string) {
  const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), onNotice: (line) => console.log(line) })
  stops.push(() => postgres.stop())
  return postgres.url
}

/** An app to try things with; its key stays the same over restarts. */
async function ensureDemoApp(db: Db, apiKey: string) {
  const [known] = await db`select from api_keys where hash = ${sha256(apiKey)}`
  if (!known) await createApp(db, 'Demo', apiKey)
}

const print = (lines: Record<string, string | undefined>) => {
  for (const [name, value] of Object.entries(lines)) console.log(`${`${name}:`.padEnd(14)}${value}`)
}

const exitAfter = (work: () => Promise<unknown>, code: number) => {
  setTimeout(() => process.exit(code), 14_000).unref()
  void work().finally(() => process.exit(code))
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => exitAfter(stopAll, 0))

start().catch((error) => {
  console.error(error instanceof Error ? error.message : error)
  exitAfter(stopAll, 1)
})
