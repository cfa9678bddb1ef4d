import { limits, type Member } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { isoTime } from '../../db/sql.ts'
import { joinedMicros } from '../cursors.ts'
import { userSummary } from '../users/view.ts'

/**
 * Members with their profiles, in the order they joined. `which` is a condition on member rows `m`,
 * and may end in order and limit.
 */
export const selectMembers = (db: Tx, which: Fragment) => db<Member[]>`
  select
    m.user_id, ${userSummary(db)} as "user", m.role, coalesce(m.custom, '{}') as custom,
    m.joined_at
  from ${membersWithUsers(db, which)}
  order by m.joined_at, m.user_id`

type ListedMember = Member & { joinedMicros: string }

/** The same, with the exact time for a cursor. */
export const selectMemberPage = (db: Tx, which: Fragment) => db<ListedMember[]>`
  select
    m.user_id, ${userSummary(db)} as "user", m.role, coalesce(m.custom, '{}') as custom,
    m.joined_at,
    ${joinedMicros(db)} as joined_micros
  from ${membersWithUsers(db, which)}
  order by m.joined_at, m.user_id`

/** The first members of channel row `c`, as JSON: for viewers of the channel. */
export function firstMembers(db: Tx) {
  const which = db`
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit ${limits.membersShown}`
  const member = db`jsonb_build_object(
    'userId', m.user_id, 'user', ${userSummary(db)}, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', ${isoTime(db, db`m.joined_at`)}
  )`
  return db`(
    select coalesce(jsonb_agg(${member} order by m.joined_at, m.user_id), '[]')
    from ${membersWithUsers(db, which)}
  )`
}

/** Users are looked up for the page only, whatever the number of members. */
const membersWithUsers = (db: Tx, which: Fragment) => db`
  (
    select m.*
    from members m
    where ${which}
  ) m
  join users u on u.app_id = m.app_id and u.id = m.user_id`
