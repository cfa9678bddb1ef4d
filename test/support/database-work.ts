import type { World } from './world.ts'

/**
 * The bytes that the only connection of the world's pool writes to PostgreSQL's log while `work`
 * runs; undefined before PostgreSQL 18, which does not count them by connection.
 */
export async function loggedBy({ pool }: World, work: () => Promise<unknown>) {
  const read = () =>
    pool.use(async (db) => {
      await db`select pg_stat_force_next_flush()`
      const [row] = await db<{ bytes: number }[]>`
        select wal_bytes::float8 as bytes
        from pg_stat_get_backend_wal(pg_backend_pid())`
      return row?.bytes ?? 0
    })
  const [known] = await pool.use(
    (db) => db<{ version: number }[]>`
      select current_setting('server_version_num')::int as version`,
  )
  if ((known?.version ?? 0) < 180_000) return undefined
  const before = await read()
  await work()
  return (await read()) - before
}
