import { contract, limits, type Output, type Reader } from '@parley/contract'
import { broadcast, type Context } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { CONTENDED, type Implements, implementWithoutTransaction } from '../core/operation.ts'
import { pipelined } from '../db/pipelined.ts'
import type { ChannelRow } from '../db/rows.ts'
import { isoTime } from '../db/sql.ts'
import { channelForReader, isLargeChannel, isReadable, type ReaderContext } from './access.ts'
import { joinedAfter, joinedMicros, memberCursor, toPage } from './cursors.ts'
import { messageIdAt } from './messages/view.ts'
import { markRead } from './reads.ts'
import { publicFields } from './users/view.ts'

const mark = implementWithoutTransaction(
  contract.receipts.mark,
  async (ctx, { channelId, messageId }) => {
    const command = { caller: ctx.caller, input: { channelId, messageId } }
    const [outcome] = await markRead(ctx, [command], { from: 'message', mayWait: true })
    if (outcome === undefined || outcome === CONTENDED) throw new Error('a mark has waited in vain')
    if ('error' in outcome) throw outcome.error
    const { memberCount, lastReadMessageId } = outcome
    await publishReceipt(ctx, { channel: { id: channelId, memberCount }, messageId })
    return { success: true, lastReadMessageId: lastReadMessageId ?? messageId }
  },
)

type CallerReceipt = { name: string; image: string | null; readAt: string }
type ReadMessage = {
  channel: Pick<ChannelRow, 'id' | 'memberCount'>
  messageId: string
}

/**
 * Publishes that the caller has read this message, and when. In a large channel the receipt goes to
 * the caller only.
 */
async function publishReceipt(ctx: Context<'user'>, { channel, messageId }: ReadMessage) {
  const { appId, userId } = ctx.caller
  const [receipt] = await ctx.db<CallerReceipt[]>`
    select
      u.display_name as name, u.image,
      coalesce(mark.read_at, now()) as read_at
    from users u
    left join lateral (
      select rm.read_at
      from read_marks rm
      where rm.channel_id = ${channel.id}
        and rm.user_id = u.id
        and rm.seq >= (
          select msg.seq
          from messages msg
          where msg.id = ${messageId}
        )
      order by rm.seq
      limit 1
    ) mark on true
    where u.app_id = ${appId}
      and u.id = ${userId}`
  if (!receipt) return
  const onlyFor = isLargeChannel(channel) ? userId : undefined
  broadcast(ctx, 'read_receipt', { channelId: channel.id, messageId, userId, ...receipt, onlyFor })
}

const get = implementWithoutTransaction(
  contract.receipts.get,
  async (ctx, { channelId, messageId }) => {
    const [{ memberCount }, [receipts]] = await pipelined([
      channelForReader(ctx, channelId),
      selectReceipts(ctx, channelId, [messageId]),
    ])
    if (!receipts) throw new ApiError('NOT_FOUND', 'Message not found')
    const { readers, readCount } = receipts
    return { readBy: readers, readCount, totalMembers: memberCount }
  },
)

const query = implementWithoutTransaction(
  contract.receipts.query,
  async (ctx, { channelId, messageIds }) => {
    const [, rows] = await pipelined([
      channelForReader(ctx, channelId),
      selectReceipts(ctx, channelId, messageIds),
    ])
    const entries = rows.map(({ messageId, ...receipts }) => [messageId, receipts])
    return { receipts: Object.fromEntries(entries) }
  },
)

type MemberStatus = Output<typeof contract.receipts.status>['members'][number] & {
  joinedMicros: string
}

const status = implementWithoutTransaction(
  contract.receipts.status,
  async (ctx, { channelId, limit, offset, cursor }) => {
    const { db } = ctx
    const statuses = db<MemberStatus[]>`
      select
        m.user_id, u.display_name as name, u.image,
        ${messageIdAt(db, { channelId: db`m.channel_id`, seq: db`m.last_read_seq` })}
          as last_read_message_id,
        m.last_read_seq,
        ${joinedMicros(db)} as joined_micros
      from (
        select *
        from members m
        where m.channel_id = ${channelId}
          and ${joinedAfter(db, cursor)}
          and ${isReadable(ctx, channelId)}
        order by m.joined_at, m.user_id
        limit ${limit + 1}
        offset ${offset}
      ) m
      join users u on u.app_id = m.app_id and u.id = m.user_id
      order by m.joined_at, m.user_id`
    const [, rows] = await pipelined([channelForReader(ctx, channelId), statuses])
    const { page, nextCursor } = toPage(rows, limit, memberCursor)
    return { members: page.map(({ joinedMicros: _, ...member }) => member), nextCursor }
  },
)

export const receipts = { mark, get, query, status } satisfies Implements<'receipts'>

type MessageReceipts = { messageId: string; readCount: number; readers: Reader[] }

/**
 * The readers of these messages, whatever the number of messages, in one pass over the members: a
 * member has read everything up to their position, so members are counted by how many of the
 * messages, from the first one, they have passed. At most `limits.readersShown` are returned, those
 * who have read farthest, each with the time of the first read mark at or after the message.
 */
function selectReceipts(ctx: ReaderContext, channelId: string, messageIds: string[]) {
  const { db } = ctx
  const reader = db`jsonb_build_object(
    'userId', u.id, ${publicFields(db)},
    'readAt', ${isoTime(db, db`mark.read_at`)}
  )`
  return db<MessageReceipts[]>`
    with requested as (
      select id, seq, user_id as author_id, row_number() over (order by seq) as number
      from messages
      where channel_id is not distinct from ${channelId}
        and id = any(${messageIds}::uuid[])
        and deleted_at is null
        and ${isReadable(ctx, channelId)}
    ),
    reader as materialized (
      select user_id, last_read_seq
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
    counted as materialized (
      select width_bucket(last_read_seq, seqs.in_order) as passed, count(*) as readers
      from reader
      cross join (select array_agg(seq order by seq) as in_order from requested) seqs
      group by 1
    )
    select
      requested.id as message_id,
      (
        coalesce((select sum(readers) from counted where passed >= requested.number), 0)
        - case when author.last_read_seq >= requested.seq then 1 else 0 end
      )::int as read_count,
      coalesce((
        select jsonb_agg(${reader} order by mark.read_at, u.id)
        from (
          select user_id
          from farthest
          where last_read_seq >= requested.seq
            and user_id <> requested.author_id
          limit ${limits.readersShown}
        ) shown
        join messages msg on msg.id = requested.id
        join users u on u.app_id = msg.app_id and u.id = shown.user_id
        cross join lateral (
          select rm.read_at
          from read_marks rm
          where rm.channel_id = ${channelId}
            and rm.user_id = shown.user_id
            and rm.seq >= requested.seq
          order by rm.seq
          limit 1
        ) mark
      ), '[]') as readers
    from requested
    left join members author
      on author.channel_id = ${channelId}
      and author.user_id = requested.author_id`
}
