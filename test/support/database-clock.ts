import { onTestFinished } from 'vitest'
import type { World } from './world.ts'

const CLOCKS = ['clock_timestamp', 'statement_timestamp']

/**
 * A clock of the database that can be set, until the test ends: connections that are opened from
 * now on read it by `clock_timestamp()` and `statement_timestamp()`, or by the functions given.
 */
export async function useDatabaseClock({ db }: Pick<World, 'db'>, clocks = CLOCKS) {
  const [{ name = '' } = {}] = await db<{ name: string }[]>`select current_database() as name`
  /** Sets it this far ahead of the real one. */
  const set = async (ahead: string) => {
    for (const name of clocks)
      await db.unsafe(`
        create or replace function public.${name}() returns timestamptz language sql as $$
          select pg_catalog.${name}() + interval '${ahead}'
        $$`)
  }
  await set('0 s')
  await db.unsafe(`alter database "${name}" set search_path = public, pg_catalog`)
  onTestFinished(async () => {
    await db.unsafe(`alter database "${name}" reset search_path`)
    for (const name of clocks) await db.unsafe(`drop function public.${name}()`)
  })
  return { set }
}
