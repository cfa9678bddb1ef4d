import { limits, type Reader } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import { isoTime } from '../db/sql.ts'
import { isReadable, type ReaderContext } from './channels/access.ts'
import { publicFields } from './users/view.ts'

type MessageReceipts = { messageId: string; readCount: number; readers: Reader[] }

/**
 * The most bytes of an answer for a message without its readers, and for a reader without their
 * profile.
 */
const AROUND_BYTES = { message: 100, reader: 50 }

type Requested = { channelId: string; messageIds: string[] }

/**
 * The readers of these messages, whatever the number of messages, in one pass over the members: a
 * member has read everything up to their position, so members are counted by how many of the
 * messages, from the first one, they have passed. At most `limits.readersShown` are returned, those
 * who have read farthest, each with the time of the first read mark at or after the message. Where
 * an answer has no room for all of these, each message has its first reader before any has a
 * second one, and so on.
 */
export function selectReceipts(ctx: ReaderContext, channelId: string, messageIds: string[]) {
  const { db } = ctx
  return db<MessageReceipts[]>`
    with requested as (${requestedMessages(ctx, { channelId, messageIds })}),
    reader as materialized (
      select app_id, user_id, last_read_seq
      from members
      where channel_id = ${channelId}
        and last_read_seq >= (select min(seq) from requested)
    ),
    farthest as materialized (
      select *
      from reader
      order by last_read_seq desc, user_id
      limit ${limits.readersShown + 1}
    ),
    profile as materialized (${measuredProfiles(db)}),
    shown as materialized (${readersWithRoom(db, messageIds.length)}),
    read_by as materialized (${readersOfMessages(db, channelId)}),
    counted as materialized (
      select width_bucket(last_read_seq, seqs.in_order) as passed, count(*) as readers
      from reader
      cross join (select array_agg(seq order by seq) as in_order from requested) seqs
      group by 1
    )
    select
      requested.id as message_id,
      (
        coalesce((
          select sum(readers)
          from counted
          where passed >= requested.number
        ), 0)
        - case when author.last_read_seq >= requested.seq then 1 else 0 end
      )::int as read_count,
      coalesce(read_by.readers, '[]') as readers
    from requested
    left join read_by on read_by.message_id = requested.id
    left join members author
      on author.channel_id = ${channelId}
      and author.user_id = requested.author_id`
}

/** The messages that the caller may read, numbered in their order. */
const requestedMessages = (ctx: ReaderContext, { channelId, messageIds }: Requested) => ctx.db`
  select id, seq, user_id as author_id, row_number() over (order by seq) as number
  from messages
  where channel_id is not distinct from ${channelId}
    and id = any(${messageIds}::uuid[])
    and deleted_at is null
    and ${isReadable(ctx, channelId)}`

/** The profiles of `farthest`: `shown` as JSON, and how much of an answer each takes. */
const measuredProfiles = (db: Tx) => db`
  select
    u.id, farthest.last_read_seq, more.shown,
    row_number() over (order by farthest.last_read_seq desc, u.id) as ordinal,
    octet_length(more.shown::text) + ${AROUND_BYTES.reader} as bytes
  from farthest
  join users u on u.app_id = farthest.app_id and u.id = farthest.user_id
  cross join lateral (
    select jsonb_build_object('userId', u.id, ${publicFields(db)}) as shown
    offset 0 -- measured and answered, but made once
  ) more`

/** The first readers of each requested message, as many as the answer has room for. */
const readersWithRoom = (db: Tx, messages: number) => db`
  select message_id, seq, user_id
  from (
    select
      message_id, seq, user_id,
      sum(bytes) over (order by nth, number) as bytes_to_here
    from (
      select
        requested.id as message_id, requested.seq, requested.number, profile.id as user_id,
        row_number() over (partition by requested.id order by profile.ordinal) as nth,
        profile.bytes
      from requested
      join profile
        on profile.last_read_seq >= requested.seq
        and profile.id <> requested.author_id
    ) candidate
    where nth <= ${limits.readersShown}
  ) measured
  where bytes_to_here <= ${limits.answerBytes - messages * AROUND_BYTES.message}`

/** The readers of each message of `shown` as JSON, each with the time of their mark. */
const readersOfMessages = (db: Tx, channelId: string) => db`
  select
    shown.message_id,
    jsonb_agg(
      profile.shown || jsonb_build_object('readAt', ${isoTime(db, db`mark.read_at`)})
      order by mark.read_at, shown.user_id
    ) as readers
  from shown
  join profile on profile.id = shown.user_id
  cross join lateral (
    select rm.read_at
    from read_marks rm
    where rm.channel_id = ${channelId}
      and rm.user_id = shown.user_id
      and rm.seq >= shown.seq
    order by rm.seq
    limit 1
  ) mark
  group by shown.message_id`
