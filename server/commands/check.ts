import { once } from 'node:events'
import { requireSecrets } from '../config/dev-secrets.ts'
import { type Config, readConfig } from '../config/index.ts'
import { nameWarnings } from '../config/names.ts'
import { localUrl, wsUrlOf } from '../config/urls.ts'
import { warningsOf } from '../config/warnings.ts'
import { loadRedis } from '../core/redis.ts'
import { describeDataDir } from '../db/embedded/data-dir.ts'
import { requireEmbeddable } from '../db/embedded/index.ts'
import { inspect, requireMigrated } from '../db/migrate.ts'
import { errorMessage } from '../process/lifecycle.ts'
import { checkAddresses } from './check-addresses.ts'
import { connectionWarnings } from './connections.ts'
import { databaseError } from './database-error.ts'
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
  const { version, pending, isEmpty, isQueueBehind } = await inspect(url, { mayMigrate, hasJobs })
  console.log(`Database: PostgreSQL ${version}`)
  for (const warning of await connectionWarnings(url, config)) warn(warning)
  const lacks = isQueueBehind ? [...pending, QUEUE_MIGRATIONS] : pending
  const missing = isEmpty ? `empty, lacks all ${pending.length} migrations` : listed(lacks)
  console.log(`Schema: ${missing}`)
  if (!mayMigrate) await requireMigrated(url, { hasJobs })
}

const listed = (lacks: string[]) =>
  lacks.length === 0 ? 'up to date' : `lacks ${lacks.join(', ')}`

/** A start does not fail for it either: events come later without it. */
async function checkRedis({ redis }: Config) {
  if (!redis) return
  const connectRedis = await loadRedis(redis.target)
  const { client, problem, close } = connectRedis({ name: 'parley-check', commandMs: REDIS_MS })
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
