import { onTestFinished } from 'vitest'
import type { World } from './world.ts'

/**
 * Until the test ends the database cancels statements that delete more rows of a table than this:
 * by their time, a busy one would cancel any.
 */
export async function cancelLarge(
  { db }: Pick<World, 'db'>,
  mostRows: number,
  table = 'read_marks',
) {
  await db.unsafe(`
    create function cancel_large() returns trigger language plpgsql as $$
      begin
        if (select count(*) from gone) > ${mostRows} then
          raise exception using errcode = 'query_canceled';
        end if;
        return null;
      end
    $$;
    create trigger cancel_large after delete on ${table}
    referencing old table as gone
    for each statement execute function cancel_large()`)
  onTestFinished(async () => {
    await db`drop function cancel_large cascade`
  })
}
