import { contract, limits, type Output, type Reader } from '@parley/contract'
import { broadcast, type Context } from '../core/context.ts'
import { fail } from '../core/errors.ts'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import type { ChannelRow } from '../db/rows.ts'
import { isoTime } from '../db/sql.ts'
import { channelForMember, channelForReader, isLargeLivestream } from './access.ts'
import { moveMarkers, publishRead } from './reads.ts'

const mark = implementWithoutTransaction(
  contract.receipts.mark,
  async (ctx, { channelId, messageId }) => {
    const { channel, standing } = await channelForMember(ctx, channelId, messageId)
    const seq = standing.cursorSeq ?? 0
    const [moved] = await moveMarkers(ctx.db, {
      channelId,
      userId: ctx.caller.userId,
      lastReadSeq: seq,
      unreadAfterSeq: seq,
    })
    if (!moved) return fail('FORBIDDEN', 'You are not a member of this channel')
    ctx.services.lastActive.touch(ctx.caller)
    await publishRead(ctx, { channel, moved })
    await announceReceipt(ctx, { channel, messageId, seq })
    return { success: true, lastReadMessageId: moved.lastReadMessageId ?? messageId }
  },
)

/** Tells the channel that the caller has read this message, and when. In a crowd only the caller hears of it. */
async function announceReceipt(
  ctx: Context<'user'>,
  { channel, messageId, seq }: { channel: ChannelRow; messageId: string; seq: number },
) {
  const { appId, userId } = ctx.caller
  const [reader] = await ctx.db<{ name: string; image: string | null; readAt: string }[]>`
    select u.display_name as name, u.image, coalesce(mark.read_at, now()) as read_at
    from users u
    left join lateral (
      select read_at from read_marks k where k.channel_id = ${channel.id} and k.user_id = u.id and k.seq >= ${seq} order by k.seq limit 1
    ) mark on true
    where u.app_id = ${appId} and u.id = ${userId}`
  if (reader)
    broadcast(ctx, 'read_receipt', {
      channelId: channel.id,
      messageId,
      userId,
      ...reader,
      onlyFor: isLargeLivestream(channel) ? userId : undefined,
    })
}

const get = implementWithoutTransaction(
  contract.receipts.get,
  async (ctx, { channelId, messageId }) => {
    const { channel } = await channelForReader(ctx, channelId)
    const [receipt] = await selectReceipts(ctx.db, channelId, [messageId])
    if (!receipt) return fail('NOT_FOUND', 'Message not found')
    return {
      readBy: receipt.readers,
      readCount: receipt.readCount,
      totalMembers: channel.memberCount,
    }
  },
)

const query = implementWithoutTransaction(
  contract.receipts.query,
  async (ctx, { channelId, messageIds }) => {
    await channelForReader(ctx, channelId)
    const receipts = await selectReceipts(ctx.db, channelId, messageIds)
    return {
      receipts: Object.fromEntries(
        receipts.map(({ messageId, ...receipt }) => [messageId, receipt]),
      ),
    }
  },
)

const status = implementWithoutTransaction(
  contract.receipts.status,
  async (ctx, { channelId, limit, offset }) => {
    await channelForReader(ctx, channelId)
    const members = await ctx.db<Output<typeof contract.receipts.status>['members']>`
    select f.user_id, u.display_name as name, u.image, x.id as last_read_message_id, f.last_read_seq
    from members f
    join users u on u.app_id = f.app_id and u.id = f.user_id
    left join messages x on x.channel_id = f.channel_id and x.seq = f.last_read_seq
    where f.channel_id = ${channelId} order by f.joined_at, f.user_id limit ${limit} offset ${offset}`
    return { members }
  },
)

export const receipts = { mark, get, query, status } satisfies Implements<'receipts'>

/**
 * Who has read these messages, whatever their number in one pass over the members: a member has read all up to his
 * position, so a running count over the positions, highest first, tells each message's readers. A hundred of them are
 * shown, those who have read farthest, each with the time of the first mark at or after the message.
 */
const selectReceipts = (db: Tx, channelId: string, messageIds: string[]) => db<
  { messageId: string; readCount: number; readers: Reader[] }[]
>`
  with asked as (
    select id, seq, user_id as author_id from messages where channel_id = ${channelId} and id = any(${messageIds}::uuid[]) and deleted_at is null
  ), reader as materialized (
    select user_id, last_read_seq from members
    where channel_id = ${channelId} and last_read_seq >= (select min(seq) from asked) order by last_read_seq desc, user_id
  ), counted as (
    select id, sum(one) over (order by seq desc, one desc rows unbounded preceding) as readers
    from (select null::uuid as id, last_read_seq as seq, 1 as one from reader union all select id, seq, 0 from asked) line
  )
  select a.id as message_id, (c.readers - case when author.last_read_seq >= a.seq then 1 else 0 end)::int as read_count,
    coalesce((
      select jsonb_agg(jsonb_build_object('userId', u.id, 'name', u.display_name, 'image', u.image, 'readAt', ${isoTime(db, db`mark.read_at`)}) order by mark.read_at, u.id)
      from (
        select user_id from (select * from reader limit ${limits.readersShown + 1}) farthest
        where last_read_seq >= a.seq and user_id <> a.author_id limit ${limits.readersShown}
      ) r
      join messages m on m.id = a.id
      join users u on u.app_id = m.app_id and u.id = r.user_id
      cross join lateral (
        select read_at from read_marks k where k.channel_id = ${channelId} and k.user_id = r.user_id and k.seq >= a.seq order by k.seq limit 1
      ) mark
    ), '[]') as readers
  from asked a
  join counted c on c.id = a.id
  left join members author on author.channel_id = ${channelId} and author.user_id = a.author_id`
