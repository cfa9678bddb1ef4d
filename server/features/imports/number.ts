import { limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { SYSTEM_USER } from '../system-user.ts'
import { countSilent } from '../tombstones.ts'

/** How many rows a step takes. */
export const STEP = limits.imports.batch.lines

type Kind = 'message' | 'reaction' | 'pin' | 'read'
type DueQuery = { appId: string; channelIds: string[]; kind: Kind }

/** The next records of a kind that wait in these channels: of each channel in the order of time. */
export const due = (db: Tx, { appId, channelIds, kind }: DueQuery): Fragment => db`
  select ir.*
  from unnest(${channelIds}::uuid[]) as given (id)
  cross join lateral (
    select *
    from imported_rows ir
    where ir.channel_id = given.id
      and ir.record = ${kind}
      and ir.app_id is not distinct from ${appId}
    order by ir.created_at, ir.position
    limit ${STEP}
  ) ir
  limit ${STEP}`

/**
 * Takes the rows of `due` from the waiting ones, by an array of keys: with a join, each waiting row
 * of the app would be compared with each due one.
 */
export const takeDue = (db: Tx, { appId, kind }: Pick<DueQuery, 'appId' | 'kind'>): Fragment => db`
  delete from imported_rows
  where app_id = ${appId}
    and record = ${kind}
    and key = any(array(select due.key from due))`

type Numbered = {
  channelId: string
  userId: string
  seq: number
  parentId: string | null
  isDeleted: boolean
  isUncounted: boolean
}

/**
 * Stores the next messages of these channels, numbered in the order of their times: of messages
 * with the same time, the one earlier in the file is first. Only these steps write to channels that
 * nobody sees, so their counters need no lock beyond that of the import. A message whose author was
 * deleted meanwhile becomes a tombstone, also if another user now has the id. Returns how many
 * there were.
 */
export async function storeMessages(db: Tx, { appId, channelIds }: Omit<DueQuery, 'kind'>) {
  const numbered = await insertDue(db, { appId, channelIds, kind: 'message' })
  const uncounted = numbered.filter(({ isUncounted }) => isUncounted)
  if (uncounted.length > 0) {
    await countSilent(
      db,
      uncounted.map((message) => ({ ...message, appId })),
    )
  }
  const replies = numbered.flatMap(({ parentId, isDeleted }) => (isDeleted ? [] : (parentId ?? [])))
  if (replies.length > 0) await countReplies(db, appId, replies)
  return numbered.length
}

/** Keeps authors from being deleted meanwhile, so that the erasure finds what they wrote. */
const insertDue = (db: Tx, query: DueQuery) => db<Numbered[]>`
  with due as materialized (${due(db, query)}),
  taken as (${takeDue(db, query)}),
  author as materialized (
    select
      found.channel_id, u.id,
      u.deleted_at is not null and u.id <> ${SYSTEM_USER.id} as is_deleted,
      coalesce(
        (
          select msg.author_seq
          from messages msg
          where msg.channel_id = found.channel_id
            and msg.user_id collate "C" = u.id
          order by msg.seq desc
          limit 1
        ),
        0
      ) as last_author_seq
    from (select distinct channel_id, "row" ->> 'userId' as user_id from due) found
    join users u on u.app_id = ${query.appId} and u.id = found.user_id
  ),
  numbered as materialized (
    select
      due.key::uuid as id, due.channel_id, author.id as user_id, due."row", due.created_at,
      author.is_deleted or due."row" -> 'erasedAt' is not null as is_deleted,
      c.last_seq + row_number() over (
        partition by due.channel_id order by due.created_at, due.position
      ) as seq,
      author.last_author_seq + row_number() over (
        partition by due.channel_id, author.id order by due.created_at, due.position
      ) as author_seq
    from due
    join channels c on c.id = due.channel_id
    join author on author.channel_id = due.channel_id and author.id = due."row" ->> 'userId'
  ),
  inserted as (
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, created_rev, author_seq,
      text, mentions, attachments, custom,
      type, silent, parent_id, quoted_id,
      created_at, updated_at, edited_at, deleted_at
    )
    select
      id, ${query.appId}, channel_id, user_id, seq, seq, seq, author_seq,
      case when is_deleted then '' else "row" ->> 'text' end,
      case
        when is_deleted then '{}'
        else array(select jsonb_array_elements_text("row" -> 'mentions'))
      end,
      case when is_deleted then '[]' else "row" -> 'attachments' end,
      case when not is_deleted then nullif("row" -> 'custom', 'null') end,
      "row" ->> 'type', ("row" ->> 'silent')::boolean, ("row" ->> 'parentId')::uuid,
      ("row" ->> 'quotedId')::uuid,
      created_at, coalesce(("row" ->> 'editedAt')::timestamptz, created_at),
      case when not is_deleted then ("row" ->> 'editedAt')::timestamptz end,
      case when is_deleted then coalesce(("row" ->> 'erasedAt')::timestamptz, now()) end
    from numbered
  ),
  former as (
    insert into former_members (app_id, channel_id, user_id)
    select distinct ${query.appId}::uuid, numbered.channel_id, numbered.user_id
    from numbered
    where not numbered.is_deleted
      and numbered.user_id <> ${SYSTEM_USER.id}
      and not exists (
        select
        from members m
        where m.channel_id = numbered.channel_id
          and m.user_id = numbered.user_id
      )
    on conflict do nothing
  ),
  advanced as (
    update channels c
    set
      last_seq = newest.seq,
      last_activity_at = greatest(c.last_activity_at, newest.created_at)
    from (
      select channel_id, max(seq) as seq, max(created_at) as created_at
      from numbered
      group by channel_id
    ) newest
    where c.id = newest.channel_id
      and c.id = any(${query.channelIds}::uuid[])
  )
  select
    channel_id, user_id, seq::int, ("row" ->> 'parentId')::uuid as parent_id, is_deleted,
    is_deleted or "row" ->> 'silent' is not null as is_uncounted
  from numbered`

/**
 * Adds new replies to the counts of their threads. A parent is never later than its replies, so it
 * was stored with them, or before.
 */
function countReplies(db: Tx, appId: string, parentIds: string[]) {
  const counts = new Map<string, number>()
  for (const id of parentIds) counts.set(id, (counts.get(id) ?? 0) + 1)
  return db`
    update messages msg
    set reply_count = msg.reply_count + given.count
    from unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()]}::int[])
      as given (id, count)
    where msg.id = given.id
      and msg.app_id is not distinct from ${appId}`
}
