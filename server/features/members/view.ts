import { limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'
import { isoTime } from '../../db/sql.ts'

/** The first members of channel row `c`, as JSON: for those who show a channel. */
export const selectMembers = (db: Tx) => db`(
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', f."user", 'role', f.role, 'joinedAt', ${isoTime(db, db`f.joined_at`)}) order by f.joined_at, f.user_id), '[]')
  from (select f.* from (${memberRows(db)} where f.channel_id = c.id) f order by f.joined_at, f.user_id limit ${limits.membersShown}) f
)`

/** Members with their profiles, as rows `f`. */
export const memberRows = (db: Tx) => db`
  select f.channel_id, f.user_id, jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user", f.role, f.joined_at
  from members f join users u on u.app_id = f.app_id and u.id = f.user_id`
