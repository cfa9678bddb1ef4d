import type { Db, Tx } from '../db/client.ts'
import { countActive, isToday } from './active-users.ts'
import { createLru } from './lru.ts'
import { type UserRef, userKey } from './user-ref.ts'

export type LastActive = ReturnType<typeof createLastActive>

/** A user's time of last activity is written at most this often. */
const PRECISION_MS = 60_000
const FLUSH_MS = 2_000

/**
 * Records when users were last active. It is never part of a request: users are collected and
 * written every few seconds, in one statement. A crash loses the last few seconds.
 */
export function createLastActive(db: Db) {
  const recent = createLru<true>({ entries: 100_000, ttl: PRECISION_MS })
  let pending: UserRef[] = []
  let timer: NodeJS.Timeout | undefined

  const touch = ({ appId, userId }: UserRef) => {
    const key = userKey({ appId, userId })
    if (recent.has(key)) return
    recent.set(key, true)
    pending.push({ appId, userId })
    timer ??= setTimeout(flushOrDrop, FLUSH_MS).unref()
  }
  /** Writes the collected users. To be called before the database is closed. */
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const users = pending
    pending = []
    if (users.length > 0) await db.use((db) => writeLastActive(db, users))
  }
  // Without the database the update is dropped: the user's next one follows within a minute.
  const flushOrDrop = () => void flush().catch(() => {})
  return { touch, flush }
}

/** Users that another transaction has locked are skipped rather than waited for. */
function writeLastActive(db: Tx, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db`
    with due as (
      select u.app_id, u.id, coalesce(${isToday(db, db`u.last_active_at`)}, false) as was_active
      from users u
      join unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
        on given.app_id = u.app_id
        and given.user_id = u.id
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
    where u.app_id = due.app_id
      and u.id = due.id`
}
