import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import type postgres from 'postgres'
import { connectOnce, type Tx } from './client.ts'
import { locks } from './locks.ts'
import { requireDirectConnection } from './require-direct.ts'
import { singleSocket } from './single-socket.ts'
import { transaction } from './transaction.ts'

const OLDEST_VERSION = 150_000

/** What drizzle runs in a transaction. */
type Work = (tx: Tx) => Promise<unknown>

/** Applies pending migrations, forward only. Several nodes may start at once. */
export async function migrate(url: string) {
  await requireDirectConnection(url)
  // A separate connection, because drizzle replaces the parsers of the client that it is given.
  const client = connectOnce(url, { socket: singleSocket(), fetch_types: false })
  const safe = Object.assign(client, { begin: (work: Work) => transaction(client, work) })
  try {
    await client`select pg_advisory_lock(${locks.migration})`
    await requireVersion(client)
    await applyMigrations(drizzle(safe), {
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
