import { limits } from '@parley/contract'
import { deleteEntries } from '../core/audit.ts'
import type { DbConnection } from '../db/client.ts'
import { type RetentionContext, repeatUntilNone } from './delete-in-steps.ts'

/**
 * Entries of the audit log, oldest first: by their numbers, and then in each app, since those of an
 * imported one are older than entries before them.
 */
export async function expireAudit(context: RetentionContext, days: number) {
  for (const select of [selectOldest, selectOldestOfApps])
    await repeatUntilNone(context, (db, limit) => deleteEntries(db, select(db, { days, limit })))
}

type Old = { days: number; limit: number }

const selectOldest = (db: DbConnection, { days, limit }: Old) => db`
  select oldest.id
  from (
    select aud.id, aud.created_at
    from audit aud
    order by aud.id
    limit ${limit}
  ) oldest
  where oldest.created_at < now() - ${days} * interval '1 day'`

const selectOldestOfApps = (db: DbConnection, { days, limit }: Old) => db`
  select oldest.id
  from apps a
  cross join lateral (
    select aud.created_at
    from audit aud
    where aud.app_id = a.id
    order by aud.id
    limit 1
  ) first
  cross join lateral (
    select aud.id, aud.created_at
    from audit aud
    where aud.app_id = a.id
    order by aud.id
    limit ${limit}
  ) oldest
  where first.created_at < now() - ${days} * interval '1 day'
    and oldest.created_at < now() - ${days} * interval '1 day'
  limit ${limit}`

/** The numbers of active users of each app. */
export const expireActiveUsers = (context: RetentionContext) =>
  repeatUntilNone(
    context,
    (db, limit) => db`
      delete from active_users
      where ctid = any(array(
        select old.ctid
        from apps a
        cross join lateral (
          select au.ctid
          from active_users au
          where au.app_id = a.id
            and au.day < (now() at time zone 'UTC')::date - ${limits.usage.keptDays}::int
        ) old
        limit ${limit}
      ))`,
  )
