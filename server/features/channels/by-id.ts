import type { Fragment, Tx } from '../../db/client.ts'

/**
 * The channel with an id, unless it is deleted, for `lateral`. PostgreSQL finds it by its key in
 * any plan, also one that was made while there were few channels: no index has the other condition
 * in this form, and what has a limit is looked up for each row.
 */
export const channelById = (db: Tx, id: Fragment) => db`
  select *
  from channels
  where id = ${id}
    and num_nulls(deleted_at) = 1
  limit 1`
