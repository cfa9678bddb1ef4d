import { limits } from '@parley/contract'
import { deleteEntries } from '../core/audit.ts'
import type { DbConnection } from '../db/client.ts'
import { type RetentionContext, repeatUntilNone } from './delete-in-steps.ts'

/** Entries of the audit log, oldest first. */
export const expireAudit = (context: RetentionContext, days: number) =>
  repeatUntilNone(context, (db, limit) => deleteEntries(db, selectOldest(db, { days, limit })))

type Old = { days: number; limit: number }

const selectOldest = (db: DbConnection, { days, limit }: Old) => db`
  select aud.id
  from audit aud
  where aud.created_at < now() - ${days} * interval '1 day'
  order by aud.created_at, aud.id
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
