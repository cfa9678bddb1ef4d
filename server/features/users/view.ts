import { limits, type User, type UserSummary } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant } from '../../db/sql.ts'

/** User row `u`, or `user`, as JSON: the public profile that messages, members and events show. */
export const userSummary = (db: Tx, user = db`u`) =>
  db`jsonb_build_object('id', ${user}.id, ${publicFields(db, user)})`

/** The public fields of user row `u`, or `user`, except its id, for `jsonb_build_object`. */
export const publicFields = (db: Tx, user = db`u`) =>
  db`'name', ${user}.display_name, 'image', ${user}.image`

/** The same fields as columns of user row `u`: beside its id, those of a UserSummary. */
export const publicColumns = constant((db) => db`u.display_name as name, u.image`)

/**
 * The version of what is public of user row `u`: the time of its last change in microseconds, which
 * grows with each change even if the clock was set back. 0 if it has never changed.
 */
export const profileVersion = constant(
  (db) => db`coalesce(extract(epoch from u.profile_changed_at) * 1000000, 0)::float8`,
)

/** The users with these ids who are not deleted, in the order of their ids. */
export const selectUsers = (db: Tx, appId: string, ids: string[]) =>
  usersById(db, { appId, ids, lock: db`` })

/**
 * The same, locked against deletion until this transaction ends. Every operation that makes
 * something theirs reads them this way.
 */
export const lockUsersForShare = (db: Tx, appId: string, ids: string[]) =>
  usersById(db, { appId, ids, lock: db`for key share` })

type UsersById = { appId: string; ids: string[]; lock: Fragment }

const usersById = (db: Tx, { appId, ids, lock }: UsersById) => db<UserSummary[]>`
  select u.id, ${publicColumns(db)}
  from users u
  where u.app_id = ${appId}
    and u.id = any(${ids})
    and u.deleted_at is null
  order by u.id
  ${lock}`

export type Profile = User & { custom: Record<string, unknown>; email: string | null }
type ProfileQuery = { appId: string; which: Fragment }

/**
 * Users who are not deleted, by name, with everything that responses show of them. `which` is a
 * condition on rows `u`, and may end in order and limit: the rest is read for these rows only.
 */
export const selectProfiles = (db: Tx, query: ProfileQuery) => db<Profile[]>`
  select ${listedFields(db)}, u.custom, u.email
  from (${usersWhich(db, query)}) u
  order by u.display_name, u.id`

/** The same users with the fields that lists show: without metadata, which may be large. */
export const selectListed = (db: Tx, query: ProfileQuery) => listed(db, usersWhich(db, query))

const usersWhich = (db: Tx, { appId, which }: ProfileQuery) => db`
  select *
  from users u
  where u.app_id = ${appId}
    and u.deleted_at is null
    and ${which}`

/**
 * The same of the users with these ids. Each is looked up by itself: with the ids as a condition,
 * an app that PostgreSQL took for small was read from end to end, by its index of names. `which`
 * is a condition on rows `u`.
 */
export const selectListedById = (
  db: Tx,
  { appId, ids, which = db`true` }: { appId: string; ids: Fragment; which?: Fragment },
) =>
  listed(
    db,
    db`
      select u.*
      from (
        select distinct id
        from unnest(${ids}::text[]) id
      ) wanted
      cross join lateral (
        select *
        from users u
        where u.app_id = ${appId}
          and u.id = wanted.id
          and u.deleted_at is null
        limit 1
      ) u
      where ${which}`,
  )

const listed = (db: Tx, rows: Fragment) => db<User[]>`
  select ${listedFields(db)}
  from (${rows}) u
  order by u.display_name, u.id`

const listedFields = (db: Tx) => db`
  u.id, ${publicColumns(db)}, ${presenceFields(db)}`

/** Whether user row `u` is online, the version of that, and when they were last active. */
export const presenceFields = constant(
  (db) => db`
    u.last_active_at, u.presence_version,
    coalesce((
      select true
      from connections con
      join nodes n on n.id = con.node_id
      where con.app_id = u.app_id
        and con.user_id = u.id
        and n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'
      limit 1
    ), false) as online`,
)
