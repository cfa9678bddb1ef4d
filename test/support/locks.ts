import { connectOnce, type Tx } from '@parley/server/db/client'
import { inSchema, locks } from '@parley/server/db/locks'
import { transaction } from '@parley/server/db/transaction'
import { expect, vi } from 'vitest'
import { patient } from './until.ts'
import type { World } from './world.ts'

/**
 * Holds the row of a channel locked from a connection of its own while `work` runs. `work` is given
 * a function that resolves once `count` connections wait for a row.
 */
export const whileLocked = <T>(
  world: World,
  channelId: string,
  work: (waiting: (count: number) => Promise<void>) => T | Promise<T>,
): Promise<T> =>
  whileRowLocked(
    world,
    (sql) => sql`select from channels where id = ${channelId} for update`,
    () => work((count) => waitingForRows(world, count)),
  )

/** Holds the row of a user locked while `work` runs: no transaction can write about them. */
export const whileUserLocked = <T>(
  world: Pick<World, 'databaseUrl' | 'appId'>,
  userId: string,
  work: () => T | Promise<T>,
): Promise<T> =>
  whileRowLocked(
    world,
    (sql) => sql`
      select
      from users
      where app_id = ${world.appId}
        and id = ${userId}
      for no key update`,
    work,
  )

/**
 * Holds the rows that `lock` locks while `work` runs, however long that takes: PostgreSQL ends
 * other connections of tests after 2 s without a statement. `work` is given the transaction with
 * the lock.
 */
export async function whileRowLocked<T>(
  { databaseUrl }: Pick<World, 'databaseUrl'>,
  lock: (sql: Tx) => Promise<unknown>,
  work: (sql: Tx) => T | Promise<T>,
): Promise<T> {
  const third = connectOnce(databaseUrl)
  try {
    return await transaction(third, async (sql) => {
      await lock(sql)
      return work(sql)
    })
  } finally {
    await third.end()
  }
}

/** Holds the lock of the cleanup while `work` runs, so that nothing deleted is purged. */
export async function withoutCleanup<T>(world: World, work: () => Promise<T>): Promise<T> {
  const third = connectOnce(world.databaseUrl)
  try {
    await third`select pg_advisory_lock(${locks.cleanup}, ${inSchema(third)})`
    return await work()
  } finally {
    await third.end()
  }
}

/** Resolves once `count` connections wait for a row. Others wait a moment to notify nodes. */
export const waitingForRows = ({ db }: World, count: number) =>
  vi.waitFor(async () => {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'
        and wait_event in ('transactionid', 'tuple')`
    expect(row?.count).toBe(count)
  }, patient)
