import type { World } from './world.ts'

/** The columns of all tables that hold the id of a user, by their names: `pins.pinned_by`. */
export async function userColumns({ db }: Pick<World, 'db'>) {
  const columns = await db<{ name: string }[]>`
    select table_name || '.' || column_name as name
    from information_schema.columns
    where table_schema = 'public'
      and data_type = 'text'
      and (column_name ~ '(^|_)(user_id|by)$' or (table_name, column_name) = ('users', 'id'))`
  return columns.map(({ name }) => name).toSorted()
}
