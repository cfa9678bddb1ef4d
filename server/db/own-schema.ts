import type { Tx } from './client.ts'
import { LONGEST_NAME, ownSchema } from './schema-name.ts'

/** The schema of graphile-worker's tables. */
export const queueSchemaOf = (databaseUrl: string) => ownSchema(databaseUrl) ?? 'graphile_worker'

/** Whether a session, `sa`, is one of this service, also where others share its database. */
export const isOwnSession = (db: Tx) => db`
  sa.datname = current_database()
    and sa.application_name like 'parley%'
    and split_part(sa.application_name, '/', 2) = left(
      ${schemaOf(db, '')},
      ${LONGEST_NAME - 1} - length(split_part(sa.application_name, '/', 1))
    )`

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
