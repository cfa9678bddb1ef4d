import type { Tx } from '@parley/server/db/client'
import { createPool } from '@parley/server/db/pool'
import { withTimeLimit } from '@parley/server/db/time-limit'
import { expect, inject, onTestFinished, test } from 'vitest'
import { unhurried } from './support/until.ts'

/** A pool of one connection, which is closed after a statement that took too long. */
function openPool() {
  const pool = createPool({
    url: inject('databaseUrl'),
    poolSize: 1,
    applicationName: 'parley-test',
    patience: unhurried,
  })
  onTestFinished(() => pool.end({ timeout: 1 }))
  return pool
}
const limitOf = async (db: Tx) => {
  const [row] = await db<{ limit: string }[]>`
    select current_setting('statement_timeout') as limit`
  return row?.limit
}

test('a statement with a limit is ended by it, those after it have the usual time', async () => {
  const pool = openPool()
  const usual = await pool.use(limitOf)
  const limited = pool.use((db) => withTimeLimit(db, 50, () => db`select pg_sleep(60)`))
  await expect(limited).rejects.toMatchObject({ code: '57014' })
  expect(await pool.use(limitOf)).toBe(usual)
})

test.each([
  ['works', 'select 1 / 1 as result', 1],
  ['fails', 'select 1 / 0 as result', 'division by zero'],
])('after a statement with a limit that %s its connection is as before', async (_, sql, result) => {
  const pool = openPool()
  const usual = await pool.use(limitOf)
  const within = (db: Tx) =>
    withTimeLimit(db, 50, () => db.unsafe<{ result: number }[]>(sql)).then(
      ([row]) => row?.result,
      (error) => error.message,
    )
  const [inside, after] = await pool.use(async (db) => [
    await withTimeLimit(db, 50, () => db`select current_setting('statement_timeout') as limit`),
    [await within(db), await limitOf(db)],
  ])
  expect(inside).toMatchObject([{ limit: '50ms' }])
  expect(after).toEqual([result, usual])
})
