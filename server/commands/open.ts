import type { Config } from '../config/index.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { InUseError } from '../db/embedded/lock.ts'
import { migrate, requireMigrated } from '../db/migrate.ts'
import { whenReady } from '../db/when-ready.ts'
import { migrateQueue } from '../jobs/queue.ts'
import { errorMessage } from '../process/lifecycle.ts'
import { processLog } from '../process/process-log.ts'
import { connectionWarnings, type ProcessSizes } from './connections.ts'
import { databaseError } from './database-error.ts'
import { grantIfMigrated } from './grants.ts'

// How the commands open and prepare the database.

/** How the queue's migrations are named, which are graphile-worker's. */
export const QUEUE_MIGRATIONS = "the job queue's migrations"

type WaitConfig = Pick<Config, 'waitSeconds'>

/** Repeats `work` while the database is starting. Its errors say that they are the database's. */
export function whenDatabaseIsReady<T>(work: () => Promise<T>, { waitSeconds }: WaitConfig) {
  const onWait = (reason: unknown) =>
    processLog.warn(`waiting up to ${waitSeconds} s for the database: ${errorMessage(reason)}`)
  return whenReady(work, { waitSeconds, onWait }).catch((error) => {
    throw databaseError(error)
  })
}

/** Brings the schema up to date, and answers what it applied. Says when it waits for others. */
export const migrateWhenReady = (url: string, config: WaitConfig) =>
  whenDatabaseIsReady(() => migrate(url, { onNotice: processLog.warn }), config)

/** Prepares the schema for a server, which may need more connections than there are. */
export async function prepareDatabase(url: string, config: Migrating & ProcessSizes) {
  await prepareSchema(url, config)
  const warnings = await whenDatabaseIsReady(() => connectionWarnings(url, config), config)
  for (const warning of warnings) processLog.warn(warning)
}

type Migrating = WaitConfig & Pick<Config, 'migrateOnStart' | 'jobs'>

/** Brings the schema and that of the queue up to date, or only looks whether ours is. */
export async function prepareSchema(url: string, config: Migrating) {
  const hasJobs = config.jobs !== 'off'
  if (!config.migrateOnStart)
    return whenDatabaseIsReady(() => requireMigrated(url, { hasJobs }), config)
  await migrateWhenReady(url, config)
  if (hasJobs) await whenDatabaseIsReady(() => migrateQueue(url), config)
  // Servers of other roles, which were granted the tables of before, also use the new ones.
  await whenDatabaseIsReady(() => grantIfMigrated(url), config)
}

/** Runs `work` on the configured database, or on the embedded one, which ends afterwards. */
export async function withDatabase(config: Config, work: (url: string) => Promise<void>) {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) return work(databaseUrl)
  // Otherwise Node.js would end without its event `exit`, at which PostgreSQL is interrupted.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(1))
  const embedded = await startEmbeddedPostgres({
    dataDir,
    onNotice: (line) => console.log(line),
  }).catch((error) => {
    throw error instanceof InUseError ? besideServer(error) : error
  })
  try {
    await work(embedded.url)
  } finally {
    await embedded.stop()
  }
}

/** The database of that server is meant, and none in another folder. */
const besideServer = ({ problem }: InUseError) =>
  new Error(`${problem}. End that one, or set DATABASE_URL to the Database that it has printed`)
