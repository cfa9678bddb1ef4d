import type { DbConnection } from '@parley/server/db/client'

type Name = { name: string }

/** The tables whose rows name an app, except the audit log, which stays. */
const tablesOfApps = (db: DbConnection) => db<Name[]>`
  select table_name as name
  from information_schema.columns
  where column_name = 'app_id'
    and table_schema = 'public'
    and table_name <> 'audit'`

/** The tables with rows of this app, that of the apps and the events included. */
export async function tablesOf(db: DbConnection, appId: string) {
  const ofApps = (await tablesOfApps(db)).map(({ name }) => ({ name, is: `app_id = '${appId}'` }))
  const tables = [
    ...ofApps,
    { name: 'apps', is: `id = '${appId}'` },
    { name: 'events', is: `topic like '%:${appId}:%'` },
  ]
  const counts = await db.unsafe<(Name & { count: number })[]>(
    tables
      .map(({ name, is }) => `select '${name}' as name, count(*)::int from "${name}" where ${is}`)
      .join(' union all '),
  )
  return counts.filter(({ count }) => count > 0).map(({ name }) => name)
}

/** Tables whose rows come or go by themselves, and those of imports that run. */
const passing = [
  ...['active_users', 'link_previews', 'message_streams', 'staged_jobs', 'text_removals'],
  ...['app_imports', 'imports'],
]

/** The tables in which an app that was used in all ways has rows. */
export const filledTables = async (db: DbConnection) =>
  (await tablesOfApps(db)).map(({ name }) => name).filter((name) => !passing.includes(name))
