import type { Tx } from './client.ts'

const OLDEST_VERSION = 150_000

type DatabaseFacts = { version: number; name: string; encoding: string; isReadOnly: boolean }

/** The version of PostgreSQL, by name; throws if it, or the database, cannot be worked with. */
export async function requireDatabase(db: Tx) {
  const [facts] = await db<DatabaseFacts[]>`
    select
      current_setting('server_version_num')::int as version,
      current_setting('server_version') as name,
      current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only')::boolean as "isReadOnly"`
  if (!facts || facts.version < OLDEST_VERSION)
    throw new Error('Parley needs PostgreSQL 15 or newer')
  // Others have no emoji: each message with one would fail. SQL_ASCII takes whatever comes.
  if (!['UTF8', 'SQL_ASCII'].includes(facts.encoding))
    throw new Error(
      `the database has the encoding ${facts.encoding}, which has no emoji. ` +
        "Make another: create database … encoding 'UTF8' template template0",
    )
  if (facts.isReadOnly) throw new ReadOnlyError()
  return facts.name
}

/** It may be a replica that takes the place of its primary in a moment: a start waits for that. */
class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError'
  readonly code = '25006'
  constructor() {
    super(
      'the database only reads: DATABASE_URL leads to a replica. Use the address of the primary',
    )
  }
}

type SchemaFacts = {
  role: string
  database: string
  current: string | null
  mayCreate: boolean | null
}

/** Throws, with what to do, if the schema is not there or not ours. */
export async function requireSchema(db: Tx, schema: string | undefined, mayCreate: boolean) {
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
  if (mayCreate && !facts.mayCreate)
    throw new Error(
      `DATABASE_SCHEMA: the role ${facts.role} may not create tables in the schema ${schema}. ` +
        `Make it the owner: alter schema ${schema} owner to ${facts.role}`,
    )
}

type MigrationRights = {
  role: string
  database: string
  mayCreateSchemas: boolean
  mayCreateTables: boolean
}

/** Throws, with what to do, if the role may not migrate a database with our tables in `public`. */
export async function requireMayMigrate(db: Tx, { hasPending }: { hasPending: boolean }) {
  const [rights] = await db<MigrationRights[]>`
    select
      current_user as role,
      current_database() as database,
      has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
      coalesce(
        has_schema_privilege(to_regnamespace('public')::oid, 'create'),
        false
      ) as "mayCreateTables"`
  if (rights?.mayCreateSchemas && (rights.mayCreateTables || !hasPending)) return
  throw new Error(
    `the role ${rights?.role} may not change the schema of the database ${rights?.database}. ` +
      'Run parley migrate as its owner and set MIGRATE_ON_START=off, or make it the owner: ' +
      `alter database ${rights?.database} owner to ${rights?.role}`,
  )
}
