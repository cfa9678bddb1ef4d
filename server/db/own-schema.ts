import type { Tx } from './client.ts'

/** Names a schema in a database URL, for a service that has only that: see DATABASE_SCHEMA. */
export function withSchema(databaseUrl: string, schema: string) {
  const url = new URL(databaseUrl)
  url.searchParams.set('search_path', schema)
  return url.href
}

/** The schema that the URL names. Without, our tables are where PostgreSQL creates them: public. */
export const ownSchema = (databaseUrl: string) =>
  new URL(databaseUrl).searchParams.get('search_path') ?? undefined

/** The schema of graphile-worker's tables. */
export const queueSchemaOf = (databaseUrl: string) => ownSchema(databaseUrl) ?? 'graphile_worker'

const schemaOf = (db: Tx, otherwise: string) =>
  String(db.options.connection.search_path ?? otherwise)

/** The schema of graphile-worker's tables, in a query. */
export const queueSchema = (db: Tx) => db(schemaOf(db, 'graphile_worker'))

/** The schema of the list of migrations, in a query. */
export const migrationsSchema = (db: Tx) => db(schemaOf(db, 'drizzle'))

/** Whether the list of migrations exists: not in an empty database. */
export const hasMigrations = (db: Tx) =>
  hasTable(db, `${schemaOf(db, 'drizzle')}.__drizzle_migrations`)

/** Whether there are tables of the queue: they exist once a process has run jobs. */
export const hasQueue = (db: Tx) => hasTable(db, `${schemaOf(db, 'graphile_worker')}._private_jobs`)

async function hasTable(db: Tx, name: string) {
  const [table] = await db<{ exists: boolean }[]>`
    select to_regclass(${name}) is not null as exists`
  return table?.exists ?? false
}
