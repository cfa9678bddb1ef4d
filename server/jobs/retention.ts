import { limits } from '@parley/contract'
import type { DbConnection } from '../db/client.ts'
import { FIRST_ID } from '../db/sql.ts'
import { removeInvites } from '../features/workspaces/remove-invites.ts'
import { expireInOrder, type RetentionContext, repeatUntilNone } from './delete-in-steps.ts'

/** The most rows that one statement deletes. */
export const BATCH = 1_000
/** The most read marks that one statement looks at. */
export const MARKS_AT_ONCE = 5_000

export const expireEvents = (context: RetentionContext) =>
  expireInOrder(context, {
    table: 'events',
    select: (db, { from, limit }) => db`
      select e.ctid, e.created_at as at
      from events e
      where e.created_at >= ${from}
        and e.created_at < now() - ${limits.eventsKeptHours} * interval '1 hour'
      order by e.created_at
      limit ${limit}`,
  })

/** Deletes old deliveries, those of deleted webhooks included. */
export const expireDeliveries = (context: RetentionContext) =>
  expireInOrder(context, {
    table: 'webhook_deliveries',
    select: (db, { from, limit }) => db`
      select wd.ctid, wd.created_at as at
      from webhook_deliveries wd
      where wd.created_at >= ${from}
        and wd.created_at < now() - ${limits.webhooks.deliveriesKeptHours} * interval '1 hour'
      order by wd.created_at
      limit ${limit}
      for update skip locked`,
  })

/** During the import of an app, the uses of an invite come later than the invite. */
export function expireInvites(context: RetentionContext) {
  let from = '-infinity'
  return repeatUntilNone(context, async (db, limit) => {
    const expired = db`
      select wi.ctid, wi.id, wi.expires_at
      from workspace_invites wi
      where wi.expires_at >= ${from}
        and wi.expires_at < now()
        and not exists (
          select
          from app_imports ai
          where ai.app_id = wi.app_id
        )
      order by wi.expires_at
      limit ${limit}`
    const { count, until } = await removeInvites(db, expired, limit)
    from = until ?? from
    return { count }
  })
}

/** Fills in the app of uses of invites, which servers of an earlier version store without. */
export const nameAppsOfUses = (context: RetentionContext) =>
  repeatUntilNone(
    context,
    (db, limit) => db`
      update workspace_invite_uses wiu
      set app_id = wi.app_id
      from workspace_invites wi
      where wi.id = wiu.invite_id
        and wiu.ctid = any(array(
          select unnamed.ctid
          from workspace_invite_uses unnamed
          where unnamed.app_id is null
          limit ${limit}
        ))`,
  )

export const expirePreviews = (context: RetentionContext) =>
  expireInOrder(context, {
    table: 'link_previews',
    select: (db, { from, limit }) => db`
      select lp.ctid, lp.expires_at as at
      from link_previews lp
      where lp.expires_at >= ${from}
        and lp.expires_at < now()
      order by lp.expires_at
      limit ${limit}
      for update skip locked`,
  })

type MarkKey = { channelId: string; userId: string; seq: number }
const FIRST_MARK: MarkKey = { channelId: FIRST_ID, userId: '', seq: 0 }

/**
 * Keeps only a member's last read mark of each day: every message read that day still has a mark at
 * or after it. Walks over all marks in the order of their keys, so that a step looks at one slice
 * however few are old. An interrupted walk continues in the next pass.
 */
export function createReadMarkThinning() {
  let from: MarkKey | undefined
  return async ({ db, checkpoint, batch }: RetentionContext) => {
    do {
      checkpoint()
      const after = from ?? FIRST_MARK
      from = await batch.run((limit) => db.use((db) => thinSlice(db, after, limit)))
    } while (from)
  }
}

/** Thins a slice. Returns the mark with which the next begins; undefined at the end. */
async function thinSlice(db: DbConnection, from: MarkKey, limit: number) {
  const [slice] = await db<(MarkKey & { count: number })[]>`
    with slice as materialized (
      select
        rm.row_id, rm.channel_id, rm.user_id, rm.seq, rm.read_at,
        lead(rm.read_at) over (partition by rm.channel_id, rm.user_id order by rm.seq) as next_at
      from (
        select ctid as row_id, *
        from read_marks
        where (channel_id, user_id, seq) >= (${from.channelId}, ${from.userId}, ${from.seq})
        order by channel_id, user_id, seq
        limit ${limit + 1}
      ) rm
    ),
    thinned as (
      delete from read_marks
      where ctid = any(array(
        select row_id
        from slice
        where read_at < now() - ${limits.readMarksKeptDays} * interval '1 day'
          and date_trunc('day', next_at, 'UTC') = date_trunc('day', read_at, 'UTC')
      ))
    )
    select channel_id, user_id, seq, (select count(*)::int from slice) as count
    from slice
    order by channel_id desc, user_id desc, seq desc
    limit 1`
  if (!slice || slice.count <= limit) return undefined
  const { channelId, userId, seq } = slice
  return { channelId, userId, seq }
}
