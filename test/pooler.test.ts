import { openConnection } from '@parley/server/db/connection'
import { migrate } from '@parley/server/db/migrate'
import { expect, onTestFinished, test } from 'vitest'
import { hasPgbouncer, startPgbouncer } from './support/pgbouncer.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const IGNORED = [
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'enable_seqscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'jit',
  'plan_cache_mode',
  'tcp_user_timeout',
  'tcp_keepalives_idle',
  'tcp_keepalives_interval',
  'tcp_keepalives_count',
].join()

const REFUSAL =
  /^DATABASE_URL leads to a connection pooler, .* session mode, too.* Use the address of PostgreSQL/

/** A pooler that accepts our connections: it is refused by what it does, not by what it says. */
async function startIgnoring(settings: Record<string, string>) {
  const pooler = await startPgbouncer(world().databaseUrl, {
    ...settings,
    ignore_startup_parameters: IGNORED,
  })
  onTestFinished(pooler.stop)
  const connection = openConnection({ url: pooler.url, applicationName: 'parley' })
  expect(await connection`select 1 as one`.simple()).toEqual([{ one: 1 }])
  await connection.end({ timeout: 1 })
  return pooler
}

if (!hasPgbouncer) console.log('Skipped: pgbouncer is not installed')

test.skipIf(!hasPgbouncer).each([
  ['as it is installed', {}],
  ['in transaction mode', { pool_mode: 'transaction' }],
] as [string, Record<string, string>][])(
  'a pgbouncer %s is refused with what to do',
  async (_, settings) => {
    const pooler = await startPgbouncer(world().databaseUrl, settings)
    onTestFinished(pooler.stop)
    await expect(migrate(pooler.url)).rejects.toThrow(REFUSAL)
  },
)

test.skipIf(!hasPgbouncer).each([
  ['of sessions', {}],
  ['of transactions', { pool_mode: 'transaction' }],
  ['of one connection', { pool_mode: 'transaction', default_pool_size: '1' }],
] as [string, Record<string, string>][])(
  'a pgbouncer %s that ignores our settings is refused with what to do',
  async (_, settings) => {
    const pooler = await startIgnoring(settings)
    await expect(migrate(pooler.url)).rejects.toThrow(REFUSAL)
  },
)

test.skipIf(!hasPgbouncer)(
  'a pooler in transaction mode is recognised although it has our settings',
  async () => {
    const { db, databaseUrl } = world()
    const database = new URL(databaseUrl).pathname.slice(1)
    await db.unsafe(`alter database ${database} set enable_seqscan = off`)
    onTestFinished(async () => void (await db.unsafe(`alter database ${database} reset all`)))
    const pooler = await startIgnoring({ pool_mode: 'transaction' })
    await expect(migrate(pooler.url)).rejects.toThrow(REFUSAL)
  },
)
