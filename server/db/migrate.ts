import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { connectOnce } from './client.ts'
import { locks } from './locks.ts'

/** Brings the database up to date; several nodes may start at once. Forward only. */
export async function migrate(url: string) {
  // A connection of its own: drizzle replaces the parsers of the client it is given.
  const client = connectOnce(url)
  try {
    await client`select pg_advisory_lock(${locks.migration})`
    await requireVersion(client)
    await applyMigrations(drizzle(client), {
      migrationsFolder: fileURLToPath(new URL('./migrations', import.meta.url)),
    })
  } finally {
    await client.end({ timeout: 1 })
  }
}

async function requireVersion(client: postgres.Sql) {
  const [row] = await client<
    { version: number }[]
  >`select current_setting('server_version_num')::int as version`
  if (!row || row.version < 150_000) throw new Error('Parley needs PostgreSQL 15 or newer')
}
