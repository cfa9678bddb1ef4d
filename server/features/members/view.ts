import { limits, type Member } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant, isoTime } from '../../db/sql.ts'
import { joinedMicros } from '../cursors.ts'
import { userSummary } from '../users/view.ts'

/**
 * Members with their profiles, in the order they joined: as many as an answer has room for. `which`
 * is a condition on member rows `m`, and may end in order and limit.
 */
export const selectMembers = (db: Tx, which: Fragment) => db<Member[]>`
  select m.user_id, m.profile as "user", m.role, coalesce(m.custom, '{}') as custom, m.joined_at
  from (${fittingMembers(db, { which, more: customBytes(db) })}) m
  order by m.joined_at, m.user_id`

type ListedMember = Member & { joinedMicros: string; hasNext: true | null }

/** Members with the exact time for a cursor, and whether there are more. */
export const selectMemberPage = (db: Tx, which: Fragment) => db<ListedMember[]>`
  select
    m.user_id, m.profile as "user", m.role, coalesce(m.custom, '{}') as custom, m.joined_at,
    ${joinedMicros(db)} as joined_micros,
    m.has_next
  from (${fittingMembers(db, { which, more: customBytes(db) })}) m
  order by m.joined_at, m.user_id`

/** The first members of channel row `c`, as JSON, in half of an answer: for its viewers. */
export const firstMembers = constant((db) => {
  const which = db`
    m.channel_id = c.id
    order by m.joined_at, m.user_id
    limit ${limits.membersShown}`
  const member = db`jsonb_build_object(
    'userId', m.user_id, 'user', m.profile, 'role', m.role,
    'custom', coalesce(m.custom, '{}'), 'joinedAt', ${isoTime(db, db`m.joined_at`)}
  )`
  const room = limits.answerBytes / 2
  return db`(
    select coalesce(jsonb_agg(${member} order by m.joined_at, m.user_id), '[]')
    from (${fittingMembers(db, { which, more: customBytes(db), room })}) m
  )`
})

/** The most bytes of an answer for a member, besides their profile and metadata. */
const AROUND_BYTES = 120

type FittingMembers = {
  which: Fragment
  /** How many further bytes of member `m` are in the answer. */
  more?: Fragment
  room?: number
}

/** Selects the first of these members whom an answer has room for, with their profiles. */
export const fittingMembers = (db: Tx, { which, ...size }: FittingMembers) => {
  const rows = db`
    select m.*
    from members m
    where ${which}`
  return fittingProfiles(db, { rows, ...size })
}

type FittingProfiles = Omit<FittingMembers, 'which'> & { rows: Fragment }

/**
 * Selects the first of these rows of members that an answer has room for, but at least one, in the
 * order they joined, with profiles. Users are looked up for the page only, whatever the number of
 * members.
 */
export const fittingProfiles = (
  db: Tx,
  { rows, more = db`0`, room = limits.answerBytes - AROUND_BYTES }: FittingProfiles,
) => db`
  select *
  from (
    select
      m.*, more.profile,
      (row_number() over joined)::int as ordinal,
      lead(true) over joined as has_next,
      sum(${profileBytes(db)} + ${more}) over joined as bytes
    from (${rows}) m
    join users u on u.app_id = m.app_id and u.id = m.user_id
    cross join lateral (
      select ${userSummary(db)} as profile
      offset 0 -- measured and answered, but made once
    ) more
    window joined as (order by m.joined_at, m.user_id)
  ) measured
  where measured.bytes <= ${room} or measured.ordinal = 1`

/** The size of member `m` with the profile of `more`, without metadata. */
export const profileBytes = (db: Tx) => db`
  octet_length(more.profile::text) + octet_length(m.user_id) + ${AROUND_BYTES}`

/** The size of the metadata of member `m`. */
export const customBytes = (db: Tx) => db`coalesce(octet_length(m.custom::text), 0)`
