import type { Config } from '../config.ts'
import { startEmbeddedPostgres } from '../db/embedded/index.ts'
import { migrate, requireMigrated } from '../db/migrate.ts'
import { whenReady } from '../db/when-ready.ts'
import { errorMessage } from '../lifecycle.ts'
import { processLog } from '../process-log.ts'
import { databaseError } from './database-error.ts'

/** What commands do alike with the database. */

type Waiting = Pick<Config, 'waitSeconds'>

/** Repeats `work` while the database is starting. Its errors say that they are the database's. */
export function whenDatabaseIsReady<T>(work: () => Promise<T>, { waitSeconds }: Waiting) {
  const onWait = (reason: unknown) =>
    processLog.warn(`waiting up to ${waitSeconds} s for the database: ${errorMessage(reason)}`)
  return whenReady(work, { waitSeconds, onWait }).catch((error) => {
    throw databaseError(error)
  })
}

/** Brings the schema up to date, or only looks whether it is. */
export async function prepareSchema(url: string, config: Config) {
  const prepare = config.migrateOnStart ? migrate : requireMigrated
  await whenDatabaseIsReady<unknown>(() => prepare(url), config)
}

/** Runs `work` on the configured database, or on the embedded one, which ends afterwards. */
export async function withDatabase(config: Config, work: (url: string) => Promise<void>) {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) return work(databaseUrl)
  const embedded = await startEmbeddedPostgres({
    dataDir,
    onNotice: (line) => console.log(line),
  })
  try {
    await work(embedded.url)
  } finally {
    await embedded.stop()
  }
}
