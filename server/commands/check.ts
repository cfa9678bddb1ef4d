import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Config, readConfig } from '../config.ts'
import { nameWarnings } from '../config-names.ts'
import { warningsOf } from '../config-warnings.ts'
import { loadRedis } from '../core/redis.ts'
import { describeDataDir } from '../db/embedded/data-dir.ts'
import { requireEmbeddable } from '../db/embedded/index.ts'
import { inspect, requireMigrated } from '../db/migrate.ts'
import { requireSecrets } from '../dev-secrets.ts'
import { errorMessage } from '../lifecycle.ts'
import { localUrl, wsUrlOf } from '../urls.ts'
import { connectionWarnings } from './connections.ts'
import { databaseError } from './database-error.ts'
import { type Address, listenError } from './listen-error.ts'
import { QUEUE_MIGRATIONS } from './open.ts'

/**
 * `parley check`: says whether a start would succeed, and in the same words all that it would fail
 * for. It changes nothing, and starts nothing.
 */
export async function check() {
  const config = readConfig()
  console.log(`Settings: valid, for ${config.isProduction ? 'production' : 'development'}`)
  const wsUrl = wsUrlOf(config.publicUrl ?? localUrl(config.host, config.port))
  for (const warning of [...warningsOf(config, wsUrl), ...nameWarnings()]) warn(warning)
  const problems: string[] = []
  for (const look of [checkDataDir, checkDatabase, checkRedis, checkAddresses])
    await look(config).catch((error) => problems.push(errorMessage(error)))
  if (problems.length > 0) throw new Error(problems.join('; '))
}

async function checkDataDir({ isProduction, databaseUrl, dataDir }: Config) {
  if (databaseUrl === undefined) {
    requireEmbeddable(dataDir)
    console.log(`Database: embedded, below ${await describeDataDir(dataDir)}`)
  }
  if (!isProduction) requireSecrets(dataDir)
}

async function checkDatabase(config: Config) {
  const { databaseUrl } = config
  if (databaseUrl === undefined) return
  await inspectDatabase(databaseUrl, config).catch((error) => {
    throw databaseError(error)
  })
}

async function inspectDatabase(url: string, config: Config) {
  const { migrateOnStart: mayMigrate } = config
  // A start without jobs does not look at the tables of the queue, nor migrate them.
  const hasJobs = config.jobs !== 'off'
  const { version, pending, isQueueBehind } = await inspect(url, { mayMigrate, hasJobs })
  console.log(`Database: PostgreSQL ${version}`)
  for (const warning of await connectionWarnings(url, config)) warn(warning)
  const lacks = isQueueBehind ? [...pending, QUEUE_MIGRATIONS] : pending
  console.log(`Schema: ${lacks.length === 0 ? 'up to date' : `lacks ${lacks.join(', ')}`}`)
  if (!mayMigrate) await requireMigrated(url, { hasJobs })
}

/** A start does not fail for it either: events come later without it. */
async function checkRedis({ redis }: Config) {
  if (!redis) return
  const connect = await loadRedis(redis.target)
  const { client, problem, close } = connect({ name: 'parley-check', commandMs: REDIS_MS })
  const isReady = await once(client, 'ready', { signal: AbortSignal.timeout(REDIS_MS) }).then(
    () => true,
    () => false,
  )
  close()
  if (isReady) console.log('Redis: answers')
  else warn(`Redis unavailable (${problem()}). Check REDIS_URL; until then events come later.`)
}

const REDIS_MS = 2_000

const warn = (warning: string) => console.log(`Warning: ${warning}`)

/** In the order of a start. Both are listened at together, since one may exclude the other. */
async function checkAddresses({ host, port, metricsHost, metricsPort }: Config) {
  const ofMetrics =
    metricsPort === undefined ? [] : [{ host: metricsHost, port: metricsPort, prefix: 'METRICS_' }]
  const tried = await Promise.allSettled([...ofMetrics, { host, port }].map(listen))
  const failed = tried.flatMap((outcome) => {
    if (outcome.status === 'rejected') return [errorMessage(outcome.reason)]
    outcome.value.close()
    return []
  })
  if (failed.length > 0) throw new Error(failed.join('; '))
}

async function listen(address: Address) {
  const server = createServer().listen(address.port, address.host)
  await once(server, 'listening').catch(listenError(address))
  return server
}
