import { contract, type Output } from '@parley/contract'
import { broadcast, type Context } from '../core/context.ts'
import { CONTENDED, type Implements, implementWithoutTransaction } from '../core/operation.ts'
import { messageNotFound } from '../core/refusals.ts'
import { pipelined } from '../db/pipelined.ts'
import type { ChannelRow } from '../db/rows.ts'
import { channelForReader, isLargeChannel, isReadable } from './channels/access.ts'
import { joinedAfter, joinedMicros, memberCursor, toFittingPage } from './cursors.ts'
import { fittingMembers } from './members/view.ts'
import { messageIdAt } from './messages/view.ts'
import { selectReceipts } from './readers.ts'
import { markRead } from './reads.ts'
import { publicColumns } from './users/view.ts'

const mark = implementWithoutTransaction(
  contract.receipts.mark,
  async (ctx, { channelId, messageId }) => {
    const command = { caller: ctx.caller, input: { channelId, messageId } }
    const [outcome] = await markRead(ctx, [command], { from: 'message', waitsForLocks: true })
    if (outcome === undefined || outcome === CONTENDED)
      throw new Error('marking as read was still contended')
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
      ${publicColumns(ctx.db)},
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
    if (!receipts) throw messageNotFound()
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
  hasNext: true | null
}

const status = implementWithoutTransaction(
  contract.receipts.status,
  async (ctx, { channelId, limit, offset, cursor }) => {
    const { db } = ctx
    const which = db`
      m.channel_id = ${channelId}
      and ${joinedAfter(db, cursor)}
      and ${isReadable(ctx, channelId)}
      order by m.joined_at, m.user_id
      limit ${limit + 1}
      offset ${offset}`
    const statuses = db<MemberStatus[]>`
      select
        m.user_id, m.profile ->> 'name' as name, m.profile ->> 'image' as image,
        ${messageIdAt(db, { channelId: db`m.channel_id`, seq: db`m.last_read_seq` })}
          as last_read_message_id,
        m.last_read_seq,
        ${joinedMicros(db)} as joined_micros,
        m.has_next
      from (${fittingMembers(db, { which })}) m
      order by m.joined_at, m.user_id`
    const [, rows] = await pipelined([channelForReader(ctx, channelId), statuses])
    const { page, nextCursor } = toFittingPage(rows, limit, memberCursor)
    return { members: page.map(({ joinedMicros: _, ...member }) => member), nextCursor }
  },
)

export const receipts = { mark, get, query, status } satisfies Implements<'receipts'>
