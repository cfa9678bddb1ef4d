import type { Transaction } from '../../core/context.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { stateOfChannel } from '../../db/sql.ts'
import { writeRevs } from '../messages/publish.ts'
import { asBroadcast, selectMessages } from '../messages/view.ts'
import { type FoundTarget, lockDeletedUser, lockTarget, type TargetQuery } from './erase.ts'
import { lockUnseen } from './erase-unseen.ts'

/** A user's reactions in one channel: the first emoji is on the first message, and so on. */
type OwnReactions = FoundTarget & { messageIds: string[]; emojis: string[] }

/** The next reactions of deleted users, by channel. */
export const selectReactions = (db: Tx, query: TargetQuery) => db<OwnReactions[]>`
  select
    app_id, channel_id, user_id, state,
    array_agg(message_id) as message_ids,
    array_agg(emoji) as emojis
  from (
    select
      r.app_id, msg.channel_id, r.user_id, r.message_id, r.emoji,
      case
        when msg.deleted_at is null then ${stateOfChannel(db)}
        else 'deleted'
      end as state
    from reactions r
    join users u
      on u.app_id = r.app_id
      and u.id = r.user_id
      and u.deleted_at is not null
      and u.forgotten_at is null
    join messages msg on msg.id = r.message_id
    join channels c on c.id = msg.channel_id
    where r.app_id = ${query.appId}
      and r.user_id = any(${query.userIds})
      and msg.channel_id <> all(${query.exceptChannelIds}::uuid[])
    limit ${query.limit}
  ) own
  group by app_id, channel_id, user_id, state`

/**
 * Removes at most `limit` of these reactions of a deleted user. Repeating it is harmless. Where
 * nobody sees the channel, yet or any more, there are no events of it, nor of reactions that a
 * deleted message still has. A channel that was shown since it was found is left for the next look.
 */
export async function eraseReactions(ctx: Transaction, own: OwnReactions, limit: number) {
  if (own.state !== 'active') {
    const [[hidden], [deleted]] = await pipelined([
      own.state === 'importing' ? lockUnseen(ctx.db, own) : [true],
      lockDeletedUser(ctx.db, own),
    ])
    if (hidden && deleted) await deleteReactions(ctx.db, own, limit)
    return
  }
  const { channel, user } = await lockTarget(ctx.db, own)
  if (!channel || !user) return
  const removed = await deleteReactions(ctx.db, own, limit)
  const messageIds = removed.map(({ messageId }) => messageId)
  const found = await selectMessages(ctx.db, {
    viewer: null,
    which: ctx.db`where msg.id = any(${messageIds}::uuid[])`,
  })
  const undeleted = found.filter(({ deletedAt }) => deletedAt === null)
  const messages = new Map(undeleted.map((message) => [message.id, asBroadcast(message)]))
  const revs = new Map<string, number>()
  for (const { messageId, emoji } of removed) {
    const message = messages.get(messageId)
    if (message === undefined) continue
    const payload = {
      channelId: channel.id,
      messageId,
      reaction: { type: emoji, userId: user.id },
      user,
      reactions: message.reactions,
    }
    const withRev = (rev: number) => {
      revs.set(messageId, rev)
      return payload
    }
    ctx.emit(channel, 'reaction.removed', withRev, messageId)
  }
  writeRevs(ctx, revs)
}

type RemovedReaction = { messageId: string; emoji: string }

const deleteReactions = (db: Tx, own: OwnReactions, limit: number) => db<RemovedReaction[]>`
  delete from reactions
  where user_id = ${own.userId}
    and (message_id, emoji) in (
      select *
      from unnest(
        ${own.messageIds.slice(0, limit)}::uuid[],
        ${own.emojis.slice(0, limit)}::text[]
      )
    )
  returning message_id, emoji`
