import type { DbConnection, Tx } from '../db/client.ts'
import { queueSchemaOf } from '../db/own-schema.ts'
import { ownSchema } from '../db/schema-name.ts'
import { latestMigration, latestQueueMigrations } from '../db/schema-state.ts'
import { transaction } from '../db/transaction.ts'
import { useOnce } from '../db/use-once.ts'
import { tableNames } from './app-file/tables.ts'

/** Lists of migrations, ours and the queue's: a role that only uses rows applies none. */
const MIGRATIONS = ['__drizzle_migrations', 'migrations']
/** As one text: a connection that looks up no types sends no arrays. */
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
  select distinct r.rolname::text as role
  from pg_policy p
  join pg_class c on c.oid = p.polrelid
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = ${queueSchemaOf(url)}
  join pg_roles r on r.oid = any(p.polroles)
  where p.polname = left('parley_' || r.rolname, 63)
    and exists (
      select
      from pg_class t
      join pg_namespace tn on tn.oid = t.relnamespace and tn.nspname = ${ownSchema(url) ?? 'public'}
      cross join aclexplode(t.relacl) acl
      where t.relname = any(string_to_array(${NAMES}, ','))
        and acl.grantee = r.oid
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

/** Other tables may be in `public`, of extensions or of whoever shares the database. */
const selectTables = (db: Tx, schema: string) => db<Table[]>`
  select
    c.relname as name,
    c.relrowsecurity as "isGuarded",
    to_json(array(
      select s.relname::text
      from pg_depend d
      join pg_class s on s.oid = d.objid and s.relkind = 'S'
      where d.refclassid = 'pg_class'::regclass
        and d.refobjid = c.oid
        and d.classid = 'pg_class'::regclass
    )) as sequences
  from pg_class c
  where c.relnamespace = ${schema}::regnamespace
    and c.relkind in ('r', 'p', 'v')
    and (${schema} <> 'public' or c.relname = any(string_to_array(${NAMES}, ',')))
  order by c.relname`

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
