import { contract } from '@parley/contract'
import { broadcast, broadcastToUser, type Context } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import type { ChannelRow } from '../db/rows.ts'
import { channelForMember, isLargeChannel } from './access.ts'
import { messageIdAt } from './messages/view.ts'
import { uncountedAfterMarker } from './tombstones.ts'

const mark = implementWithoutTransaction(
  contract.reads.mark,
  async (ctx, { channelId, messageId }) => {
    const { channel, cursorSeq } = await channelForMember(ctx, channelId, messageId)
    // Sent together, the move at once: what is left is read after it.
    const [[position], left] = await pipelined([
      moveMarkers(ctx.db, {
        channelId,
        userId: ctx.caller.userId,
        lastReadSeq: cursorSeq ?? channel.lastSeq,
        unreadAfterSeq: channel.lastSeq,
      }).execute(),
      readUnread(ctx, channelId),
    ])
    ctx.services.lastActive.touch(ctx.caller)
    if (!position) throw new ApiError('FORBIDDEN', 'You are not a member of this channel')
    publishRead(ctx, channel, { ...position, ...left })
    const { count: unreadCount, version: unreadVersion } = left
    return { success: true, lastReadSeq: position.lastReadSeq, unreadCount, unreadVersion }
  },
)

const unreadCount = implementWithoutTransaction(
  contract.reads.unreadCount,
  async ({ db, caller }) => ({ count: await selectTotalUnread(db, caller) }),
)

export const reads = { mark, unreadCount } satisfies Implements<'reads'>

/** The unread messages in all channels of a user. */
export async function selectTotalUnread(db: Tx, { appId, userId }: UserRef) {
  const [row] = await db<{ count: number }[]>`
    select coalesce(sum(${unread(db)}), 0)::int as count
    from members m
    join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.app_id = ${appId}
      and m.user_id = ${userId}`
  return row?.count ?? 0
}

/** A member's read position, and when it was reached. */
type ReadPosition = { lastReadSeq: number; lastReadMessageId: string | null; readAt: string }

/**
 * Sends the caller's read position to the channel, and the unread count that is left there to the
 * caller. Their total follows from each node that they are connected to, which knows their other
 * counts. In a large channel the position goes to the caller only.
 */
export function publishRead(
  ctx: Context<'user'>,
  channel: ChannelRow,
  { lastReadSeq, lastReadMessageId, readAt, count, version }: ReadPosition & Unread,
) {
  const { userId } = ctx.caller
  const channelId = channel.id
  const onlyFor = isLargeChannel(channel) ? userId : undefined
  const position = { channelId, userId, lastReadSeq, lastReadMessageId, readAt }
  broadcast(ctx, 'read.updated', { ...position, onlyFor })
  broadcastToUser(ctx, userId, {
    type: 'channel.unread_changed',
    payload: { channelId, count, version },
  })
}

/** How many messages are unread, and the version of that count. */
type Unread = { count: number; version: number }

/** The caller's unread count in one channel; none if they have left it meanwhile. */
export async function readUnread(
  { db, caller: { userId } }: Context<'user'>,
  channelId: string,
): Promise<Unread> {
  const [left] = await db<Unread[]>`
    select ${unread(db)} as count, ${unreadVersion(db)} as version
    from members m
    join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.channel_id = ${channelId}
      and m.user_id = ${userId}`
  return left ?? { count: 0, version: 0 }
}

type Markers = { channelId: string; userId: string; lastReadSeq: number; unreadAfterSeq: number }

/**
 * Moves a member's markers forward, never back, in one statement; a move of the read position
 * leaves a read mark with its time. The channel is not locked: no response or event of others
 * depends on the markers.
 */
export const moveMarkers = (
  db: Tx,
  { channelId, userId, lastReadSeq, unreadAfterSeq }: Markers,
) => db<ReadPosition[]>`
  with before as (
    select app_id, channel_id, user_id, last_read_seq
    from members
    where channel_id = ${channelId}
      and user_id = ${userId}
    for no key update
  ),
  marked as (
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, ${lastReadSeq}
    from before
    where last_read_seq < ${lastReadSeq}
    on conflict do nothing
    returning read_at
  ),
  moved as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, ${lastReadSeq}),
      unread_after_seq = greatest(m.unread_after_seq, ${unreadAfterSeq})
    from before
    where m.channel_id = before.channel_id
      and m.user_id = before.user_id
    returning m.channel_id, m.user_id, m.last_read_seq
  )
  select
    moved.last_read_seq,
    ${messageIdAt(db, { channelId: db`moved.channel_id`, seq: db`moved.last_read_seq` })}
      as last_read_message_id,
    coalesce(
      (select read_at from marked),
      (
        select read_at
        from read_marks
        where channel_id = moved.channel_id
          and user_id = moved.user_id
          and seq = moved.last_read_seq
      ),
      now()
    ) as read_at
  from moved`

/**
 * The unread count of member row `m` in channel row `c`: all messages after the marker, less the
 * member's own, and the deleted and silent ones of others. Where everything is read, no messages
 * are looked up.
 */
export const unread = (db: Tx) => db`
  case
    when c.last_seq <= m.unread_after_seq then 0
    else greatest(
      0,
      c.last_seq - m.unread_after_seq
      - ${ownAfterMarker(db)}
      - (${uncountedAfterMarker(db)})
    )::int
  end`

/**
 * The version of the unread count of member row `m` in channel row `c`. What the count depends on
 * changes with one of the two numbers, and neither ever falls: of two counts the one with the
 * higher version is newer, and counts with the same version are the same. Users who are no members
 * have read everything, and so has one who joins.
 */
export const unreadVersion = (db: Tx) => db`c.rev + coalesce(m.unread_after_seq, c.last_seq)`

/**
 * With the user, so that only `messages_own` can use it: by the seq alone, without statistics, all
 * messages of the channel after the marker are read to find one of the member's.
 */
const isAfterMarker = (db: Tx) => db`
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)`

/**
 * How many messages member `m` has written after their marker, deleted ones included: the
 * difference of the numbers of the last and the first of them. If one of the two is older than
 * these numbers, the messages are counted. The collation is that of the index `messages_own`.
 */
const ownAfterMarker = (db: Tx) => db`
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and ${isAfterMarker(db)}
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and ${isAfterMarker(db)}
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)`
