import type { World } from './world.ts'

type Tables = { name: string }[]
/** The tables of the database, except those that only tests use. */
const tablesOf = ({ db }: Pick<World, 'db'>) => db<Tables>`
  select format('%I.%I', schemaname, tablename) as name
  from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema', 'twin')
    and schemaname not like 'pg\\_temp%'`

/** A statement that answers every row of these tables as text. */
const rowsOf = (tables: Tables) =>
  tables
    .map(({ name }) => `select '${name} ' || ${shown(name)} as row from ${name} t`)
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
 * The rows that the work adds, removes or changes, except the heartbeats of nodes. The database
 * compares them: it has thousands, and the work should change few.
 */
export async function changesBy(world: Pick<World, 'db'>, work: () => Promise<void>) {
  const tables = await tablesOf(world)
  const rows = rowsOf(tables.filter(({ name }) => name !== 'public.nodes'))
  const session = await world.db.reserve()
  try {
    await session.unsafe(`create temporary table before as ${rows}`)
    await work()
    const changes = await session.unsafe<{ row: string }[]>(`
      with after as materialized (${rows})
      (select row from before except select row from after)
      union all
      (select row from after except select row from before)`)
    return changes.map(({ row }) => row)
  } finally {
    await session.unsafe('drop table if exists before')
    session.release()
  }
}
