import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { connectOnce, type Tx } from './client.ts'
import { inSchema, locks } from './locks.ts'
import { migrationsSchema, ownSchema } from './own-schema.ts'
import { requireDirectConnection } from './require-direct.ts'
import { singleSocket } from './single-socket.ts'
import { transaction } from './transaction.ts'

const OLDEST_VERSION = 150_000
/** How long a node waits before it asks again whether another one has finished. */
const LOCK_PAUSE_MS = 100

/** Applies pending migrations, forward only. Several nodes may start at once. */
export async function migrate(url: string) {
  await requireDirectConnection(url)
  const client = connectOnce(url, { socket: singleSocket(), fetch_types: false })
  try {
    await requireVersion(client)
    await requireSchema(client, ownSchema(url))
    await lockMigrations(client)
    const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
    if (ownSchema(url) === undefined) await client`create schema if not exists drizzle`
    const latest = await latestMigration(client)
    for (const migration of readMigrationFiles({ migrationsFolder })) {
      if (migration.folderMillis > latest) await apply(client, migration)
    }
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

type ServerVersion = { version: number }

async function requireVersion(db: Tx) {
  const [row] = await db<ServerVersion[]>`
    select current_setting('server_version_num')::int as version`
  if (!row || row.version < OLDEST_VERSION) throw new Error('Parley needs PostgreSQL 15 or newer')
}

type SchemaFacts = {
  role: string
  database: string
  current: string | null
  mayCreate: boolean | null
}

/** Throws, with what to do, if the schema is not there or not ours. */
async function requireSchema(db: Tx, schema: string | undefined) {
  if (schema === undefined) return
  const [facts] = await db<SchemaFacts[]>`
    select
      current_user as role,
      current_database() as database,
      current_schema() as current,
      has_schema_privilege(current_schema(), 'create') as "mayCreate"`
  if (facts?.current !== schema)
    throw new Error(
      `DATABASE_SCHEMA: the database ${facts?.database} has no schema ${schema} that the role ` +
        `${facts?.role} may use. Make one: create schema ${schema} authorization ${facts?.role}`,
    )
  if (!facts.mayCreate)
    throw new Error(
      `DATABASE_SCHEMA: the role ${facts.role} may not create tables in the schema ${schema}. ` +
        `Make it the owner: alter schema ${schema} owner to ${facts.role}`,
    )
}

/** When the last migration that was applied was written; 0 in an empty database. */
async function latestMigration(db: Tx) {
  await db`
    create table if not exists ${migrationsSchema(db)}.__drizzle_migrations (
      id serial primary key,
      hash text not null,
      created_at bigint
    )`
  const [row] = await db`
    select max(created_at)::float8 as written_at
    from ${migrationsSchema(db)}.__drizzle_migrations`
  return Number(row?.written_at ?? 0)
}

/**
 * Applies a migration in a transaction of its own. One that builds an index concurrently, which no
 * transaction can, is run statement by statement; each of them can be repeated, since an
 * interrupted migration begins again.
 */
async function apply(db: Tx, { sql, hash, folderMillis }: MigrationMeta) {
  const run = async (tx: Tx) => {
    for (const statement of sql) await tx.unsafe(statement)
    await tx`
      insert into ${migrationsSchema(db)}.__drizzle_migrations (hash, created_at)
      values (${hash}, ${folderMillis})`
  }
  if (/\bconcurrently\b/i.test(sql.join())) await run(db)
  else await transaction(db, run)
}
