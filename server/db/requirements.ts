import type { Tx } from './client.ts'

const OLDEST_VERSION = 150_000

type ServerVersion = { version: number; name: string }

/** The version of PostgreSQL, by name; throws if it is too old. */
export async function requireVersion(db: Tx) {
  const [row] = await db<ServerVersion[]>`
    select
      current_setting('server_version_num')::int as version,
      current_setting('server_version') as name`
  if (!row || row.version < OLDEST_VERSION) throw new Error('Parley needs PostgreSQL 15 or newer')
  return row.name
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
