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
  'tcp_user_timeout',
].join()

const REFUSAL =
  /^DATABASE_URL leads to a connection pooler, like pgbouncer: .* Use the address of PostgreSQL/

if (!hasPgbouncer) console.log('Skipped: pgbouncer is not installed')

test.skipIf(!hasPgbouncer).each([
  ['as it is installed', {}],
  ['in transaction mode', { pool_mode: 'transaction' }],
  ['that ignores our settings', { pool_mode: 'transaction', ignore_startup_parameters: IGNORED }],
  ['of sessions that ignores them', { ignore_startup_parameters: IGNORED }],
] as [string, Record<string, string>][])(
  'a pgbouncer %s is refused with what to do',
  async (_, settings) => {
    const pooler = await startPgbouncer(world().databaseUrl, settings)
    onTestFinished(pooler.stop)
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
    const pooler = await startPgbouncer(databaseUrl, {
      pool_mode: 'transaction',
      ignore_startup_parameters: IGNORED,
    })
    onTestFinished(pooler.stop)
    await expect(migrate(pooler.url)).rejects.toThrow(/connection pooler/)
  },
)
