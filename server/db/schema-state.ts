import type { Tx } from './client.ts'
import { lastQueueMigration, readMigrations } from './migration-files.ts'
import { hasMigrations, hasQueue, migrationsSchema, queueSchema } from './own-schema.ts'

const newer = (what: string) =>
  new Error(
    `its ${what} is newer than this version of Parley. ` +
      'Start the version that migrated it, or a newer one',
  )

/** When the last migration that was applied was written; 0 in an empty database. */
export async function latestMigration(db: Tx) {
  if (!(await hasMigrations(db))) return 0
  const [row] = await db<{ latest: number | null }[]>`
    select max(created_at)::float8 as latest
    from ${migrationsSchema(db)}.__drizzle_migrations`
  return row?.latest ?? 0
}

/**
 * The latest migration of the queue that was applied, and the latest after which earlier versions
 * cannot use it; 0 if there is none.
 */
export async function latestQueueMigrations(db: Tx) {
  const none = { latest: 0, breaking: 0 }
  if (!(await hasQueue(db))) return none
  const [row] = await db<(typeof none)[]>`
    select
      coalesce(max(id), 0) as latest,
      coalesce(max(id) filter (where breaking), 0) as breaking
    from ${queueSchema(db)}.migrations`
  return row ?? none
}

/**
 * The migrations that the database does not have yet. Throws if it has one that this version does
 * not know: it was migrated by a newer version, which this one would misunderstand.
 */
export async function pendingMigrations(db: Tx) {
  const latest = await latestMigration(db)
  const all = readMigrations()
  if (all.every(({ writtenAt }) => writtenAt < latest)) throw newer('schema')
  return all.filter(({ writtenAt }) => writtenAt > latest)
}

/**
 * Whether the tables of the queue are not those of this version yet, or do not exist. Throws if
 * they are those of a newer version, which this one would misunderstand.
 */
export async function isQueueBehind(db: Tx) {
  const last = lastQueueMigration()
  const { latest, breaking } = await latestQueueMigrations(db)
  if (breaking > last) throw newer('job queue')
  return latest < last
}
