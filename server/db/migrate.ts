import { setTimeout as pause } from 'node:timers/promises'
import { connectOnce, type Tx } from './client.ts'
import { inSchema, locks } from './locks.ts'
import type { Migration } from './migration-files.ts'
import { migrationsSchema, ownSchema } from './own-schema.ts'
import { requireDirectConnection } from './require-direct.ts'
import { requireSchema, requireVersion } from './requirements.ts'
import { pendingMigrations } from './schema-state.ts'
import { singleSocket } from './single-socket.ts'
import { transaction } from './transaction.ts'

/** How long a node waits before it asks again whether another one has finished. */
const LOCK_PAUSE_MS = 100

/**
 * Applies pending migrations, forward only; answers their names. Several nodes may start at once.
 */
export const migrate = (url: string) =>
  withConnection(url, async (db) => {
    await lockMigrations(db)
    const pending = await pendingMigrations(db)
    if (ownSchema(url) === undefined) await db`create schema if not exists drizzle`
    await db`
      create table if not exists ${migrationsSchema(db)}.__drizzle_migrations (
        id serial primary key,
        hash text not null,
        created_at bigint
      )`
    for (const migration of pending) await apply(db, migration)
    return pending.map(({ name }) => name)
  })

/** Throws if the schema is not that of this version. The role may be one that owns nothing. */
export const requireMigrated = (url: string) =>
  withConnection(url, requireNothingPending, { mayCreate: false })

async function requireNothingPending(db: Tx) {
  const { length: missing } = await pendingMigrations(db)
  if (missing === 0) return
  const lack = missing === 1 ? '1 migration' : `${missing} migrations`
  throw new Error(`its schema lacks ${lack}, and MIGRATE_ON_START=off. Run: parley migrate`)
}

/** What would be migrated, and the server's version. */
export const inspect = (url: string) =>
  withConnection(
    url,
    async (db) => ({
      version: await requireVersion(db),
      pending: (await pendingMigrations(db)).map(({ name }) => name),
    }),
    { mayCreate: false },
  )

/** A connection to a database that we can work with. */
async function withConnection<T>(
  url: string,
  work: (db: Tx) => Promise<T>,
  { mayCreate = true } = {},
) {
  await requireDirectConnection(url)
  const client = connectOnce(url, {
    applicationName: 'parley-migrations',
    socket: singleSocket(),
    fetch_types: false,
  })
  try {
    await requireVersion(client)
    await requireSchema(client, ownSchema(url), mayCreate)
    return await work(client)
  } finally {
    await client.end({ timeout: 1 })
  }
}

/**
 * Polls for the lock instead of waiting in the database: an index that is built concurrently waits
 * for all statements that began before it, so the builder and the waiting statement would wait for
 * each other.
 */
async function lockMigrations(db: Tx) {
  for (;;) {
    const [lock] = await db`
      select
      from pg_try_advisory_lock(${locks.migration}, ${inSchema(db)}) as is_locked
      where is_locked`
    if (lock) return
    await pause(LOCK_PAUSE_MS)
  }
}

/**
 * Applies a migration in a transaction of its own. One that builds an index concurrently, which no
 * transaction can, is run statement by statement; each of them can be repeated, since an
 * interrupted migration begins again.
 */
async function apply(db: Tx, { statements, hash, writtenAt }: Migration) {
  const run = async (tx: Tx) => {
    for (const statement of statements) await tx.unsafe(statement)
    await tx`
      insert into ${migrationsSchema(db)}.__drizzle_migrations (hash, created_at)
      values (${hash}, ${writtenAt})`
  }
  if (/\bconcurrently\b/i.test(statements.join())) await run(db)
  else await transaction(db, run)
}
