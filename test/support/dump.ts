import { TWIN_APP_ID } from './twin/index.ts'
import type { World } from './world.ts'

type Tables = { name: string; hasApps: boolean }[]
/** The tables of the database, except those that only tests use. */
const tablesOf = ({ db }: Pick<World, 'db'>) => db<Tables>`
  select
    format('%I.%I', schemaname, tablename) as name,
    exists (
      select
      from pg_attribute
      where attrelid = format('%I.%I', schemaname, tablename)::regclass
        and attname = 'app_id'
    ) as "hasApps"
  from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema', 'twin')
    and schemaname not like 'pg\\_temp%'`

/** A statement that answers every row of these tables as text, of some apps if they have any. */
const rowsOf = (tables: Tables, apps = '') =>
  tables
    .map(({ name, hasApps }) => {
      const rows = `select '${name} ' || ${shown(name)} as row from ${name} t`
      return hasApps ? `${rows} ${apps}` : rows
    })
    .join(' union all ')

/** Without the time of a key's last use, which is written some seconds later. */
const shown = (name: string) =>
  name === 'public.api_keys' ? "(to_jsonb(t) - 'last_used_at')::text" : 't::text'

/** Every row of every table of the database as text, sorted. */
export async function dump(world: Pick<World, 'db'>) {
  const rows = await world.db.unsafe(rowsOf(await tablesOf(world)))
  return rows.map(({ row }) => row).sort()
}

/**
 * The rows that the work adds, removes or changes, except the heartbeats of nodes. Those of the
 * twin, which are most, are compared at the end of each world.
 */
export async function changesBy(world: Pick<World, 'db'>, work: () => Promise<void>) {
  const tables = await tablesOf(world)
  const compared = tables.filter(({ name }) => name !== 'public.nodes')
  const rows = rowsOf(compared, `where app_id is distinct from '${TWIN_APP_ID}'`)
  // Prepared once for a connection: planning it takes longer than reading the rows.
  const read = async () => {
    const found = await world.db.unsafe<{ row: string }[]>(rows, [], { prepare: true })
    return new Set(found.map(({ row }) => row))
  }
  const before = await read()
  await work()
  const after = await read()
  const removed = [...before].filter((row) => !after.has(row))
  const added = [...after].filter((row) => !before.has(row))
  return [...removed, ...added]
}
