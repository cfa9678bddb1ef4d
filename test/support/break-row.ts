import { onTestFinished } from 'vitest'
import type { World } from './world.ts'

/** Lets changes of these rows fail, until the returned function is called. */
export async function breakRow({ db }: Pick<World, 'db'>, table: string, condition: string) {
  await db.unsafe(`
    create function break_${table}() returns trigger language plpgsql as $$
      begin
        raise exception 'broken';
      end
    $$;
    create trigger break_${table} before update or delete on ${table}
    for each row when (old.${condition}) execute function break_${table}()`)
  const mend = async () => {
    await db.unsafe(`drop function if exists break_${table} cascade`)
  }
  onTestFinished(mend)
  return mend
}
