import { contract } from '@parley/contract'
import { broadcast, broadcastToUser, type Context } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { channelForMember, isLargeChannel } from './access.ts'
import { messageIdAt } from './messages/view.ts'
import { uncountedAfterMarker } from './tombstones.ts'

const mark = implementWithoutTransaction(
  contract.reads.mark,
  async (ctx, { channelId, messageId }) => {
    const { lastReadSeq, left } = await markRead(ctx, { channelId, messageId, from: 'end' })
    const { count: unreadCount, version: unreadVersion } = left
    return { success: true, lastReadSeq, unreadCount, unreadVersion }
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

type ReadRequest = Pick<Markers, 'channelId' | 'messageId' | 'from'>

/**
 * Moves the caller's markers, and publishes the position and the unread count that is left. Who may
 * not is told so after nothing has moved: everybody else waits for one round trip.
 */
export async function markRead(ctx: Context<'user'>, { channelId, messageId, from }: ReadRequest) {
  const { appId, userId } = ctx.caller
  // Sent together, the move at once: what is left is read after it.
  const [[position], left] = await pipelined([
    moveMarkers(ctx.db, { appId, channelId, userId, messageId, from }).execute(),
    readUnread(ctx, channelId),
  ])
  if (!position) {
    await channelForMember(ctx, channelId, messageId)
    throw new ApiError('FORBIDDEN', 'You are not a member of this channel')
  }
  ctx.services.lastActive.touch(ctx.caller)
  publishRead(ctx, channelId, { ...position, ...left })
  return { ...position, left }
}

/** A member's read position, and when it was reached; and about the channel. */
type ReadPosition = {
  lastReadSeq: number
  lastReadMessageId: string | null
  readAt: string
  memberCount: number
}

/**
 * Sends the caller's read position to the channel, and the unread count that is left there to the
 * caller. Their total follows from each node that they are connected to, which knows their other
 * counts. In a large channel the position goes to the caller only.
 */
function publishRead(
  ctx: Context<'user'>,
  channelId: string,
  { lastReadSeq, lastReadMessageId, readAt, memberCount, count, version }: ReadPosition & Unread,
) {
  const { userId } = ctx.caller
  const onlyFor = isLargeChannel({ memberCount }) ? userId : undefined
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
async function readUnread(
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

type Markers = {
  appId: string
  channelId: string
  userId: string
  /** The last message that was read; without, all were. */
  messageId: string | undefined
  /** Whether what came later counts as unread from that message on, or from the channel's end. */
  from: 'message' | 'end'
}

/**
 * Moves a member's markers forward, never back, in one statement; a move of the read position
 * leaves a read mark with its time. Nothing moves in a channel that the user is no member of, or
 * that does not have the message. The channel is not locked: no response or event of others depends
 * on the markers.
 */
export const moveMarkers = (db: Tx, { appId, channelId, userId, messageId, from }: Markers) => {
  const toEnd = messageId === undefined
  return db<ReadPosition[]>`
  with before as (
    select
      m.app_id, m.channel_id, m.user_id, m.last_read_seq, c.member_count,
      ${toEnd ? db`c.last_seq` : db`msg.seq`} as read_seq,
      ${toEnd || from === 'end' ? db`c.last_seq` : db`msg.seq`} as unread_seq
    from channels c
    join members m on m.channel_id = c.id and m.user_id = ${userId}
    ${
      toEnd
        ? db``
        : db`
    join messages msg on msg.id = ${messageId} and msg.channel_id is not distinct from c.id`
    }
    where c.id = ${channelId}
      and c.app_id is not distinct from ${appId}
      and c.deleted_at is null
    for no key update of m
  ),
  marked as (
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, read_seq
    from before
    where last_read_seq < read_seq
    on conflict do nothing
    returning read_at
  ),
  moved as (
    update members m
    set
      last_read_seq = greatest(m.last_read_seq, before.read_seq),
      unread_after_seq = greatest(m.unread_after_seq, before.unread_seq)
    from before
    where m.channel_id = before.channel_id
      and m.user_id = before.user_id
    returning m.channel_id, m.user_id, m.last_read_seq, before.member_count
  )
  select
    moved.last_read_seq, moved.member_count,
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
}

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
