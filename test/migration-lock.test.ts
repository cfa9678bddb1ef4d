import { connectOnce } from '@parley/server/db/client'
import { inSchema, locks } from '@parley/server/db/locks'
import { migrate } from '@parley/server/db/migrate'
import { expect, onTestFinished, test } from 'vitest'
import { stopClock } from './support/clock.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { until } from './support/until.ts'

test('a start that waits for a migration says so once, and gives up after an hour', async () => {
  const url = await createEmptyDatabase()
  const other = connectOnce(url)
  onTestFinished(() => other.end())
  await other`select pg_advisory_lock(${locks.migration}, ${inSchema(other)})`
  /** When it last asked for the lock. It counts the time from the first time on. */
  const askedAt = async () => {
    const [row] = await other<{ at: string }[]>`
      select query_start::text as at
      from pg_stat_activity
      where application_name = 'parley-migrations'
        and datname = current_database()
        and query like '%pg_try_advisory_lock%'`
    return row?.at
  }
  const untilAskedAgain = async () => {
    const before = await askedAt()
    await until(async () => (await askedAt()) !== before)
  }
  const { putForward } = stopClock()
  const notices: string[] = []
  const migrating = migrate(url, { onNotice: (line) => void notices.push(line) })
  const refused = expect(migrating).rejects.toThrow('has been migrating this database for an hour')
  await until(askedAt)
  expect(notices).toEqual([])
  putForward(5_000)
  await until(() => notices.length > 0)
  for (const _ of [1, 2]) await untilAskedAgain()
  putForward(3_600_000)
  await refused
  expect(notices).toEqual(['another process migrates this database: waiting for it'])
})
