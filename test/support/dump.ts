import type { World } from './world.ts'

/** Every row of every table of the database as text, sorted. */
export async function dump({ db }: Pick<World, 'db'>) {
  const tables = await db<{ name: string }[]>`
    select format('%I.%I', table_schema, table_name) as name
    from information_schema.tables
    where table_type = 'BASE TABLE'
      and table_schema not in ('pg_catalog', 'information_schema', 'twin')`
  const rows = await Promise.all(
    tables.map(async ({ name }) =>
      (await db.unsafe(`select t::text as row from ${name} t`)).map(({ row }) => `${name} ${row}`),
    ),
  )
  return rows.flat().sort()
}
