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

/** The latest migration of the queue that was applied; 0 if it has no tables. */
export async function latestQueueMigration(db: Tx) {
  if (!(await hasQueue(db))) return 0
  const [row] = await db<{ latest: number | null }[]>`
    select max(id) as latest
    from ${queueSchema(db)}.migrations`
  return row?.latest ?? 0
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
  if ((await latestBreaking(db)) > last) throw newer('job queue')
  return (await latestQueueMigration(db)) < last
}

/** The latest migration of the queue after which earlier versions cannot use it. */
async function latestBreaking(db: Tx) {
  if (!(await hasQueue(db))) return 0
  const [row] = await db<{ latest: number | null }[]>`
    select max(id) as latest
    from ${queueSchema(db)}.migrations
    where breaking`
  return row?.latest ?? 0
}
