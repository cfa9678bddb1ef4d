import type { Fragment, Tx } from '../db/client.ts'

/** Whether a time is one of today, in UTC: the days that active users are counted by. */
export const isToday = (db: Tx, time: Fragment) => db`${time} >= date_trunc('day', now(), 'UTC')`

/** Counts users who were not active before today. `added` selects app ids with their counts. */
export const countActive = (db: Tx, added: Fragment) => db`
  insert into active_users as au (app_id, day, count)
  select added.app_id, (now() at time zone 'UTC')::date, added.count
  from (${added}) added
  order by added.app_id
  on conflict (app_id, day) do update
  set count = au.count + excluded.count`
