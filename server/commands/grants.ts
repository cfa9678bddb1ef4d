import type { DbConnection, Tx } from '../db/client.ts'
import { queueSchemaOf } from '../db/own-schema.ts'
import { ownSchema } from '../db/schema-name.ts'
import { latestMigration, latestQueueMigrations } from '../db/schema-state.ts'
import { transaction } from '../db/transaction.ts'
import { useOnce } from '../db/use-once.ts'
import { tableNames } from './app-file/tables.ts'

/** Lists of migrations, ours and the queue's: a role that only uses rows applies none. */
const MIGRATIONS = ['__drizzle_migrations', 'migrations']
/** One text, because this connection looks up no types, and so cannot send arrays. */
const NAMES = tableNames.join(',')

/**
 * Gives the roles that `parley grant` was run for the tables that were made since, unless all their
 * rights were revoked meanwhile. By default privileges they would also get those that the owner
 * makes for other applications.
 */
export const grantAgain = (url: string) =>
  useOnce(url, async (db) => grantAll(db, url, await selectVersions(db)))

/** Grants again if anything was migrated since: that process may have ended before it granted. */
export const grantIfMigrated = (url: string) =>
  useOnce(url, async (db) => {
    const versions = await selectVersions(db)
    const [granted] = await db`
      select
      from service s
      where s.key = 'granted'
        and s.value = ${versions}`
    if (!granted) await grantAll(db, url, versions)
  })

async function grantAll(db: DbConnection, url: string, versions: string) {
  for (const { role } of await selectGranted(db, url)) await grantSchemas(db, url, role)
  await db`
    insert into service (key, value)
    values ('granted', ${versions})
    on conflict (key) do update
    set value = excluded.value`
}

/** The last migrations of the database: of our schema, and of the queue's. */
const selectVersions = async (db: Tx) =>
  `${await latestMigration(db)} ${(await latestQueueMigrations(db)).latest}`

/**
 * The roles with a policy of ours on the queue's tables, which stays when rights are revoked, and
 * with a right to any table of ours. PostgreSQL cuts long names.
 */
const selectGranted = (db: Tx, url: string) => db<{ role: string }[]>`
  select distinct role.rolname::text as role
  from pg_policy policy
  join pg_class class on class.oid = policy.polrelid
  join pg_namespace namespace
    on namespace.oid = class.relnamespace
    and namespace.nspname = ${queueSchemaOf(url)}
  join pg_roles role on role.oid = any(policy.polroles)
  where policy.polname = left('parley_' || role.rolname, 63)
    and exists (
      select
      from pg_class own
      join pg_namespace own_namespace
        on own_namespace.oid = own.relnamespace
        and own_namespace.nspname = ${ownSchema(url) ?? 'public'}
      cross join aclexplode(own.relacl) acl
      where own.relname = any(string_to_array(${NAMES}, ','))
        and acl.grantee = role.oid
    )
  order by 1`

/**
 * The role may be in use: at no moment it has less than before. Two grants at once would change the
 * same rows of the catalog, and one of them would fail.
 */
export async function grantSchemas(db: DbConnection, url: string, role: string) {
  const own = ownSchema(url)
  const schemas = own === undefined ? ['public', 'drizzle'] : [own]
  await transaction(db, async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('parley grant'))`
    for (const schema of new Set([...schemas, queueSchemaOf(url)]))
      await grantSchema(tx, schema, role)
  })
}

type Table = { name: string; isGuarded: boolean; sequences: string[] }

/** Our objects in the schema. */
async function grantSchema(db: Tx, schema: string, role: string) {
  const to = db`to ${db(role)}`
  await db`grant usage on schema ${db(schema)} ${to}`
  const tables = await selectTables(db, schema)
  for (const { name, isGuarded, sequences } of tables) {
    const table = db`${db(schema)}.${db(name)}`
    const rights = MIGRATIONS.includes(name) ? db`select` : db`select, insert, update, delete`
    await db`grant ${rights} on ${table} ${to}`
    for (const sequence of sequences)
      await db`grant usage, select on sequence ${db(schema)}.${db(sequence)} ${to}`
    // The queue's tables show their rows to their owner only, unless a policy says otherwise.
    if (isGuarded) await showRows(db, { schema, name, role })
  }
}

/** Other tables may be in `public`, of extensions or of others who share the database. */
const selectTables = (db: Tx, schema: string) => db<Table[]>`
  select
    class.relname as name,
    class.relrowsecurity as "isGuarded",
    to_json(array(
      select sequence.relname::text
      from pg_depend dependency
      join pg_class sequence on sequence.oid = dependency.objid and sequence.relkind = 'S'
      where dependency.refclassid = 'pg_class'::regclass
        and dependency.refobjid = class.oid
        and dependency.classid = 'pg_class'::regclass
    )) as sequences
  from pg_class class
  where class.relnamespace = ${schema}::regnamespace
    and class.relkind in ('r', 'p', 'v')
    and (${schema} <> 'public' or class.relname = any(string_to_array(${NAMES}, ',')))
  order by class.relname`

async function showRows(
  db: Tx,
  { schema, name, role }: { schema: string; name: string; role: string },
) {
  const [known] = await db`
    select
    from pg_policies
    where schemaname = ${schema}
      and tablename = ${name}
      and policyname = left(${`parley_${role}`}, 63)`
  // To make it again would lock the table, which workers use.
  if (known) return
  const table = db`${db(schema)}.${db(name)}`
  await db`
    create policy ${db(`parley_${role}`)}
    on ${table}
    to ${db(role)}
    using (true)
    with check (true)`
}
