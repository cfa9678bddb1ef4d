import { contract } from '@parley/contract'
import { broadcast, broadcastToUser, type Context } from '../core/context.ts'
import { fail } from '../core/errors.ts'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import type { ChannelRow } from '../db/rows.ts'
import { channelForMember, isLargeLivestream } from './access.ts'

const mark = implementWithoutTransaction(
  contract.reads.mark,
  async (ctx, { channelId, messageId }) => {
    const { channel, standing } = await channelForMember(ctx, channelId, messageId)
    const [moved] = await moveMarkers(ctx.db, {
      channelId,
      userId: ctx.caller.userId,
      lastReadSeq: standing.cursorSeq ?? channel.lastSeq,
      unreadAfterSeq: channel.lastSeq,
    })
    ctx.services.lastActive.touch(ctx.caller)
    if (!moved) return fail('FORBIDDEN', 'You are not a member of this channel')
    await publishRead(ctx, { channel, moved })
    return { success: true, lastReadSeq: moved.lastReadSeq }
  },
)

const unreadCount = implementWithoutTransaction(
  contract.reads.unreadCount,
  async ({ db, caller: { appId, userId } }) => {
    const [row] = await db<{ count: number }[]>`
    select coalesce(sum(${unread(db)}), 0)::int as count
    from members m join channels c on c.id = m.channel_id and c.deleted_at is null
    where m.app_id = ${appId} and m.user_id = ${userId}`
    return { count: row?.count ?? 0 }
  },
)

export const reads = { mark, unreadCount } satisfies Implements<'reads'>

/** A member's read position, and when it was reached. */
type ReadPosition = { lastReadSeq: number; lastReadMessageId: string | null; readAt: string }

/** Tells a channel how far the caller has read it, and the caller what is left. In a crowd only the caller hears of it. */
export async function publishRead(
  ctx: Context<'user'>,
  { channel, moved }: { channel: ChannelRow; moved: ReadPosition },
) {
  const { appId, userId } = ctx.caller
  const [left] = await ctx.db<{ count: number; total: number }[]>`
    select coalesce(sum(unread) filter (where id = ${channel.id}), 0)::int as count, coalesce(sum(unread), 0)::int as total
    from (
      select c.id, ${unread(ctx.db)} as unread from members m join channels c on c.id = m.channel_id and c.deleted_at is null
      where m.app_id = ${appId} and m.user_id = ${userId}
    ) mine`
  const { lastReadSeq, lastReadMessageId, readAt } = moved
  broadcast(ctx, 'read.updated', {
    channelId: channel.id,
    userId,
    lastReadSeq,
    lastReadMessageId,
    readAt,
    onlyFor: isLargeLivestream(channel) ? userId : undefined,
  })
  broadcastToUser(ctx, userId, {
    type: 'channel.unread_changed',
    payload: { channelId: channel.id, count: left?.count ?? 0 },
  })
  broadcastToUser(ctx, userId, {
    type: 'channel.total_unread_changed',
    payload: { count: left?.total ?? 0 },
  })
}

/**
 * Moves a member's markers forward, never back, in one statement; a move of the read position leaves a mark with its
 * time. The channel is not locked: no answer or event of others depends on the markers.
 */
export const moveMarkers = (
  db: Tx,
  {
    channelId,
    userId,
    lastReadSeq,
    unreadAfterSeq,
  }: { channelId: string; userId: string; lastReadSeq: number; unreadAfterSeq: number },
) => db<ReadPosition[]>`
  with before as (
    select app_id, channel_id, user_id, last_read_seq from members where channel_id = ${channelId} and user_id = ${userId} for no key update
  ), marked as (
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, ${lastReadSeq} from before where last_read_seq < ${lastReadSeq}
    on conflict do nothing
    returning read_at
  ), moved as (
    update members m
    set last_read_seq = greatest(m.last_read_seq, ${lastReadSeq}), unread_after_seq = greatest(m.unread_after_seq, ${unreadAfterSeq})
    from before where m.channel_id = before.channel_id and m.user_id = before.user_id
    returning m.channel_id, m.user_id, m.last_read_seq
  )
  select moved.last_read_seq, message.id as last_read_message_id, coalesce((select read_at from marked), mark.read_at, now()) as read_at
  from moved
  left join messages message on message.channel_id = moved.channel_id and message.seq = moved.last_read_seq
  left join read_marks mark on mark.channel_id = moved.channel_id and mark.user_id = moved.user_id and mark.seq = moved.last_read_seq`

/** The unread count of member row `m` in channel row `c`: all after the marker, less one's own and the deleted ones of others. Where all is read nothing is looked up. */
export const unread = (db: Tx) => db`
  case when c.last_seq <= m.unread_after_seq then 0 else greatest(0, c.last_seq - m.unread_after_seq
    - (select count(*) from messages x where x.channel_id = c.id and x.user_id = m.user_id and x.seq > m.unread_after_seq)
    - (select count(*) from messages x where x.channel_id = c.id and x.deleted_at is not null and x.user_id <> m.user_id and x.seq > m.unread_after_seq))::int end`
