import { contract, limits } from '@parley/contract'
import type { WriteContext } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import type { LockedChannel } from '../core/event-buffer.ts'
import { type Implements, implement } from '../core/operation.ts'
import { pipelined } from '../db/pipelined.ts'
import { lockCallerForShare } from './channels/access.ts'
import { lockedMessageForMember } from './messages/access.ts'
import { viewMessage, writeRev } from './messages/publish.ts'
import { kindsOf } from './messages/reaction-groups.ts'
import { asBroadcast } from './messages/view.ts'
import { selectUsers } from './users/view.ts'

const add = implement(contract.reactions.add, async (ctx, { emoji, ...ref }) => {
  const { channel, message } = await lockedMessageAndCaller(ctx, ref)
  const { appId, userId } = ctx.caller
  const [before] = await ctx.db<{ kinds: number; isKnown: boolean; isOwn: boolean }[]>`
    with recursive kinds as (${kindsOf(ctx.db, message.id)}),
    before as (
      select
        count(*)::int as kinds,
        coalesce(bool_or(emoji = ${emoji}), false) as is_known,
        coalesce((
          select true
          from reactions
          where message_id = ${message.id}
            and emoji = ${emoji}
            and user_id = ${userId}
          limit 1
        ), false) as is_own
      from kinds
    ),
    added as (
      insert into reactions (app_id, message_id, emoji, user_id, created_at)
      select ${appId}, ${message.id}, ${emoji}, ${userId}, clock_timestamp()
      from before
      where not is_own
        and (is_known or kinds < ${limits.reactionKinds})
    )
    select *
    from before`
  if (before && !before.isKnown && before.kinds >= limits.reactionKinds) {
    throw new ApiError(
      'VALIDATION_ERROR',
      `emoji: a message can have at most ${limits.reactionKinds} different reactions`,
    )
  }
  const messageId = message.id
  const isRepeat = before?.isOwn === true
  if (!isRepeat && message.userId !== userId) {
    ctx.enqueue('push-reaction', { messageId, userId, emoji })
  }
  const type = isRepeat ? null : 'reaction.added'
  return publishReactions(ctx, { type, channel, messageId, emoji })
})

const remove = implement(contract.reactions.remove, async (ctx, { emoji, ...ref }) => {
  const { channel, message } = await lockedMessageAndCaller(ctx, ref)
  const removed = await ctx.db`
    delete from reactions
    where message_id = ${message.id}
      and emoji = ${emoji}
      and user_id = ${ctx.caller.userId}`
  const type = removed.count === 0 ? null : 'reaction.removed'
  return publishReactions(ctx, { type, channel, messageId: message.id, emoji })
})

export const reactions = { add, remove } satisfies Implements<'reactions'>

/** The events show the caller, who stays until this transaction ends. */
async function lockedMessageAndCaller(
  ctx: WriteContext<'user'>,
  ref: { channelId: string; messageId: string },
) {
  const [locked] = await pipelined([lockedMessageForMember(ctx, ref), lockCallerForShare(ctx)])
  return locked
}

type ReactionChange = {
  /** Null: nothing has changed. */
  type: 'reaction.added' | 'reaction.removed' | null
  channel: LockedChannel
  messageId: string
  emoji: string
}

/** Publishes a change of reactions, if there is one; returns them as the caller sees them. */
async function publishReactions(
  ctx: WriteContext<'user'>,
  { type, channel, messageId, emoji }: ReactionChange,
) {
  const { appId, userId } = ctx.caller
  const [message, [user]] = await pipelined([
    viewMessage(ctx, { messageId, viewer: userId }),
    selectUsers(ctx.db, appId, [userId]),
  ])
  if (type !== null && user) {
    const { reactions } = asBroadcast(message)
    const payload = {
      channelId: channel.id,
      messageId,
      reaction: { type: emoji, userId },
      user,
      reactions,
    }
    const withRev = (rev: number) => {
      writeRev(ctx, { id: messageId, rev })
      return payload
    }
    ctx.emit(channel, type, withRev, messageId)
  }
  return { success: true, reactions: message.reactions }
}
