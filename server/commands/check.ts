import { type Config, readConfig } from '../config.ts'
import { warningsOf } from '../config-warnings.ts'
import { requireEmbeddable } from '../db/embedded/index.ts'
import { inspect } from '../db/migrate.ts'
import { localUrl, wsUrlOf } from '../urls.ts'
import { connectionWarnings } from './connections.ts'
import { databaseError } from './database-error.ts'
import { QUEUE_MIGRATIONS } from './open.ts'

/** `parley check`: says whether a start would succeed. It changes nothing, and starts nothing. */
export async function check() {
  const config = readConfig()
  console.log(`Settings: valid, for ${config.isProduction ? 'production' : 'development'}`)
  const wsUrl = wsUrlOf(config.publicUrl ?? localUrl(config.host, config.port))
  for (const warning of warningsOf(config, wsUrl)) console.log(`Warning: ${warning}`)
  const { databaseUrl } = config
  if (databaseUrl !== undefined) return checkDatabase(databaseUrl, config)
  console.log(`Database: embedded, below ${config.dataDir}`)
  requireEmbeddable(config.dataDir)
}

async function checkDatabase(url: string, config: Config) {
  const { version, pending, isQueueBehind } = await inspect(url, {
    mayMigrate: config.migrateOnStart,
  }).catch((error) => {
    throw databaseError(error)
  })
  console.log(`Database: PostgreSQL ${version}`)
  for (const warning of await connectionWarnings(url, config)) console.log(`Warning: ${warning}`)
  // A start without jobs does not look at the tables of the queue, nor migrate them.
  const isBehind = isQueueBehind && config.jobs !== 'off'
  const lacks = isBehind ? [...pending, QUEUE_MIGRATIONS] : pending
  if (lacks.length === 0) return console.log('Schema: up to date')
  console.log(`Schema: lacks ${lacks.join(', ')}`)
  if (!config.migrateOnStart)
    throw new Error('MIGRATE_ON_START=off: run `parley migrate` before a start')
}
