import { limits, type Member } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { isoTime } from '../../db/sql.ts'

/** Members with their profiles, in the order they joined. `which` says which of rows `f`, and may end in a page. */
export const selectMembers = (db: Tx, which: Fragment) => db<Member[]>`
  select f.user_id, ${profile(db)} as "user", f.role, f.joined_at from ${membersWhere(db, which)} order by f.joined_at, f.user_id`

/** The first members of channel row `c`, as JSON: for those who show a channel. */
export const firstMembers = (db: Tx) => db`(
  select coalesce(jsonb_agg(jsonb_build_object('userId', f.user_id, 'user', ${profile(db)}, 'role', f.role, 'joinedAt', ${isoTime(db, db`f.joined_at`)}) order by f.joined_at, f.user_id), '[]')
  from ${membersWhere(db, db`f.channel_id = c.id order by f.joined_at, f.user_id limit ${limits.membersShown}`)}
)`

/** Users are looked up for the page only, however many members there are. */
const membersWhere = (db: Tx, which: Fragment) =>
  db`(select f.* from members f where ${which}) f join users u on u.app_id = f.app_id and u.id = f.user_id`
const profile = (db: Tx) =>
  db`jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image)`
