import type { Db, Tx } from '../db/client.ts'
import { countActive, isToday } from './active-users.ts'
import { createTouches, PRECISION_MS } from './touches.ts'
import { type UserRef, userKey } from './user-ref.ts'

export type LastActive = ReturnType<typeof createLastActive>

/** Records when users were last active. */
export const createLastActive = (db: Db) =>
  createTouches<UserRef>({
    keyOf: userKey,
    entries: 100_000,
    write: (users) => db.use((db) => writeLastActive(db, users)),
  })

/** Users that another transaction has locked are skipped rather than waited for. */
function writeLastActive(db: Tx, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db`
    with due as (
      select u.app_id, u.id, coalesce(${isToday(db, db`u.last_active_at`)}, false) as was_active
      from users u
      join unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
        on given.app_id = u.app_id and given.user_id = u.id
      where u.deleted_at is null
        and (
          u.last_active_at is null
          or u.last_active_at < now() - ${PRECISION_MS} * interval '1 millisecond'
        )
      for no key update of u skip locked
    ),
    counted as (
      ${countActive(
        db,
        db`
          select due.app_id, count(*)
          from due
          where not due.was_active
          group by due.app_id`,
      )}
    )
    update users u
    set last_active_at = now()
    from due
    where u.app_id = due.app_id and u.id = due.id`
}
