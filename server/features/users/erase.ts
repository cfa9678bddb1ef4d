import { topics, type UserSummary } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import type { Tx } from '../../db/client.ts'
import type { MemberRow } from '../../db/rows.ts'
import { asLocked, lockChannels, selectChannel } from '../access.ts'
import { removeMember } from '../members/change.ts'
import type { DatedMessage } from '../messages/access.ts'
import { tombstone } from '../messages/delete.ts'
import { writeRevs } from '../messages/publish.ts'
import { asBroadcast, selectMessages, toMessage } from '../messages/view.ts'

/** Erases what a deleted user has left, channel by channel, each step in a short transaction. */

type ErasureTarget = { appId: string; channelId: string; userId: string }
type TargetQuery = { appId: string; userIds: string[]; limit: number }
/** At most this many reactions and this many messages are erased in one step. */
const STEP = 200

/** Where deleted users may have left something: the channels they are, or once were, members of. */
export const selectErasureTargets = (db: Tx, query: TargetQuery) => db<ErasureTarget[]>`
  select target.app_id, target.channel_id, target.user_id
  from (
    select app_id, channel_id, user_id from members
    union
    select app_id, channel_id, user_id from former_members
  ) target
  join users u
    on u.app_id = target.app_id
    and u.id = target.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null
  join channels c on c.id = target.channel_id and c.deleted_at is null
  where target.app_id = ${query.appId}
    and target.user_id = any(${query.userIds})
  limit ${query.limit}`

/**
 * One step in one channel: the user leaves, their reactions are removed, their messages become
 * tombstones. Repeating it is harmless.
 */
export async function eraseInChannel(ctx: Transaction, target: ErasureTarget) {
  const { db } = ctx
  const { appId, channelId, userId } = target
  const [, [user], [row], [member]] = await Promise.all([
    lockChannels(db, appId, [channelId]),
    lockDeletedUser(db, target),
    selectChannel(db, appId, channelId),
    selectMember(db, target),
  ])
  if (!user || !row) return
  const channel = asLocked(row)
  if (member) await removeMember(ctx, channel, { user, role: member.role })
  const removedReactions = await removeReactions(ctx, channel, user)
  const erasedMessages = await eraseMessages(ctx, channel, userId)
  if (removedReactions < STEP && erasedMessages < STEP) ctx.write(releaseKeys(db, target))
}

/** While this lock is held, the id cannot become a new user's. */
const lockDeletedUser = (db: Tx, { appId, userId }: ErasureTarget) => db<UserSummary[]>`
  select id, display_name as name, image
  from users
  where app_id = ${appId}
    and id = ${userId}
    and deleted_at is not null
    and forgotten_at is null
  for share`

type MemberRole = Pick<MemberRow, 'role'>

const selectMember = (db: Tx, { channelId, userId }: ErasureTarget) => db<MemberRole[]>`
  select role
  from members
  where channel_id = ${channelId}
    and user_id = ${userId}`

/** Returns how many it has removed. */
async function removeReactions(ctx: Transaction, channel: LockedChannel, user: UserSummary) {
  const removed = await deleteReactions(ctx.db, channel, user.id)
  if (removed.length === 0) return 0
  const messageIds = removed.map(({ messageId }) => messageId)
  const views = await selectMessages(ctx.db, {
    viewer: null,
    which: ctx.db`where msg.id = any(${messageIds}::uuid[])`,
  })
  const messages = new Map(views.map((view) => [view.id, asBroadcast(toMessage(view))]))
  const revs = new Map<string, number>()
  for (const { messageId, emoji } of removed) {
    const payload = {
      channelId: channel.id,
      messageId,
      reaction: { type: emoji, userId: user.id },
      user,
      reactions: messages.get(messageId)?.reactions ?? [],
    }
    const withRev = (rev: number) => {
      revs.set(messageId, rev)
      return payload
    }
    ctx.emit(channel, 'reaction.removed', withRev, messageId)
  }
  writeRevs(ctx, revs)
  return removed.length
}

type RemovedReaction = { messageId: string; emoji: string }

const deleteReactions = (db: Tx, channel: LockedChannel, userId: string) => db<RemovedReaction[]>`
  delete from reactions r
  using (
    select own.message_id, own.emoji
    from reactions own
    join messages msg on msg.id = own.message_id
    where own.app_id = ${channel.appId}
      and own.user_id = ${userId}
      and msg.channel_id = ${channel.id}
    order by msg.seq
    limit ${STEP}
  ) removed
  where r.message_id = removed.message_id
    and r.emoji = removed.emoji
    and r.user_id = ${userId}
  returning r.message_id, r.emoji`

/**
 * Tombstones keep nothing that could get in the way of a new user with this id, the sender's client
 * id included. Returns how many messages it has erased; at most a step's worth.
 */
async function eraseMessages(ctx: Transaction, channel: LockedChannel, userId: string) {
  const { db } = ctx
  const messages = await db<DatedMessage[]>`
    select *, clock_timestamp() as now
    from messages
    where channel_id = ${channel.id}
      and user_id collate "C" = ${userId}
      and (deleted_at is null or client_id is not null)
    order by seq
    limit ${STEP}`
  if (messages.length === 0) return 0
  const undeleted = messages.filter(({ deletedAt }) => deletedAt === null)
  await tombstone(ctx, channel, undeleted)
  const ids = messages.map(({ id }) => id)
  ctx.write(db`
    update messages
    set client_id = null
    where id = any(${ids}::uuid[])`)
  return messages.length
}

/**
 * Once nothing is left in a channel: a direct message releases its pair, a channel its creator's
 * client id.
 */
const releaseKeys = (db: Tx, { channelId, userId }: ErasureTarget) => db`
  with former as (
    delete from former_members
    where channel_id = ${channelId}
      and user_id = ${userId}
  )
  update channels
  set
    dm_key = null,
    client_id = case when created_by = ${userId} then null else client_id end
  where id = ${channelId}
    and (dm_key is not null or (created_by = ${userId} and client_id is not null))`

/** Releases the ids of those of these users of whom nothing is left. */
export async function finishErasure(
  { db }: Pick<Transaction, 'db'>,
  appId: string,
  userIds: string[],
) {
  const erased = await db<{ id: string }[]>`
    update users u
    set forgotten_at = clock_timestamp()
    where (u.app_id, u.id) in (
        select app_id, id
        from users
        where app_id = ${appId}
          and id = any(${userIds})
          and deleted_at is not null
          and forgotten_at is null
        order by id
        for no key update
      )
      and not exists (
        select from members m
        join channels c on c.id = m.channel_id and c.deleted_at is null
        where m.app_id = u.app_id
          and m.user_id = u.id
      )
      and not exists (
        select from former_members fm
        join channels c on c.id = fm.channel_id and c.deleted_at is null
        where fm.app_id = u.app_id
          and fm.user_id = u.id
      )
    returning u.id`
  const erasedTopics = erased.map(({ id }) => topics.user(appId, id))
  await db`
    delete from events
    where topic = any(${erasedTopics})`
}
