import { contract, limits } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import { JsonText } from '../core/json-text.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import { pipelined } from '../db/pipelined.ts'
import { constant, isoTime } from '../db/sql.ts'
import { channelForReader, isReadable } from './channels/access.ts'
import { lockedMessageForMember } from './messages/access.ts'
import { selectMessagePage } from './messages/page.ts'
import { publishMessageUpdate } from './messages/publish.ts'

const pin = implement(contract.pins.pin, async (ctx, ref) => {
  const { channel, message } = await lockedMessageForMember(ctx, ref)
  const { appId, userId } = ctx.caller
  const [result] = await ctx.db<{ isPinned: boolean; pinnedAt: string | null }[]>`
    with before as (
      select
        count(*)::int as pins,
        coalesce(bool_or(message_id = ${message.id}), false) as is_pinned
      from pins
      where channel_id = ${channel.id}
    ),
    pinned as (
      insert into pins (app_id, channel_id, message_id, pinned_by, pinned_at)
      select ${appId}, ${channel.id}, ${message.id}, ${userId}, clock_timestamp()
      from before
      where not is_pinned
        and pins < ${limits.pins}
      returning pinned_at
    )
    select
      before.is_pinned,
      ${isoTime(ctx.db, ctx.db`pinned.pinned_at`)} as pinned_at
    from before
    left join pinned on true`
  if (result?.isPinned) return { success: true }
  if (!result?.pinnedAt) {
    throw new ApiError(
      'VALIDATION_ERROR',
      `A channel can have at most ${limits.pins} pinned messages`,
    )
  }
  const pin = { pinnedBy: userId, pinnedAt: result.pinnedAt }
  await publishMessageUpdate(ctx, { channel, messageId: message.id, viewer: userId, pin })
  return { success: true }
})

const unpin = implement(contract.pins.unpin, async (ctx, ref) => {
  const { channel, message } = await lockedMessageForMember(ctx, ref)
  const removed = await ctx.db`
    delete from pins
    where message_id = ${message.id}`
  if (removed.count > 0) {
    await publishMessageUpdate(ctx, { channel, messageId: message.id, viewer: ctx.caller.userId })
  }
  return { success: true }
})

const list = implementWithoutTransaction(contract.pins.list, async (ctx, { channelId, offset }) => {
  const { db, caller } = ctx
  const [, { shown, isCut }] = await pipelined([
    channelForReader(ctx, channelId),
    selectMessagePage(db, {
      viewer: caller.userId,
      rows: db`
        select msg.*, p.pinned_by, p.pinned_at
        from pins p
        join messages msg on msg.id = p.message_id
        where p.channel_id = ${channelId}
          and ${isReadable(ctx, channelId)}
        order by p.pinned_at desc, msg.seq desc
        offset ${offset}`,
      order: db`msg.pinned_at desc, msg.seq desc`,
      channelId,
      also: pinFields(db),
    }),
  ])
  const messages = shown.map(({ json }) => json)
  return new JsonText(`{"messages":[${messages}]${isCut ? ',"more":true' : ''}}`)
})

/** The pin of message row `msg`, with its user and time, as more fields of its JSON. */
export const pinFields = constant(
  (db) => db`concat(
    '"pinnedBy":', to_json(msg.pinned_by),
    ',"pinnedAt":"', ${isoTime(db, db`msg.pinned_at`)}, '"'
  )`,
)

export const pins = { pin, unpin, list } satisfies Implements<'pins'>
