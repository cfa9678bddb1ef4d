import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { connectOnce } from './client.ts'
import { locks } from './locks.ts'

const OLDEST_VERSION = 150_000

/** Applies pending migrations, forward only. Several nodes may start at once. */
export async function migrate(url: string) {
  // A separate connection, because drizzle replaces the parsers of the client that it is given.
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

type ServerVersion = { version: number }

async function requireVersion(client: postgres.Sql) {
  const [row] = await client<ServerVersion[]>`
    select current_setting('server_version_num')::int as version`
  if (!row || row.version < OLDEST_VERSION) throw new Error('Parley needs PostgreSQL 15 or newer')
}
