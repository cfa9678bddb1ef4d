import { topics } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import type { Tx } from '../../db/client.ts'
import type { ChannelRow, MemberRow } from '../../db/rows.ts'
import { asLocked, lockChannels } from '../access.ts'
import { removeMember } from '../members/change.ts'
import { writeRevs } from '../messages/announce.ts'
import { type DatedMessage, tombstone } from '../messages/delete.ts'
import { asBroadcast, selectMessages, toMessage } from '../messages/view.ts'

/** What a deleted user leaves behind is taken away channel by channel, in steps small enough for a short transaction. */

export type ErasureTarget = { appId: string; channelId: string; userId: string }
const STEP = 200

/** Where deleted users may have left something: the channels they are, or once were, members of. */
export const selectErasureTargets = (
  db: Tx,
  { appId, userIds, limit }: { appId: string; userIds: string[]; limit: number },
) => db<ErasureTarget[]>`
  select p.app_id, p.channel_id, p.user_id
  from (select app_id, channel_id, user_id from members union select app_id, channel_id, user_id from former_members) p
  join users u on u.app_id = p.app_id and u.id = p.user_id and u.deleted_at is not null and u.forgotten_at is null
  join channels c on c.id = p.channel_id and c.deleted_at is null
  where p.app_id = ${appId} and p.user_id = any(${userIds}) limit ${limit}`

/** One step in one channel: the user leaves, his reactions go, his messages become tombstones. Repeating it is harmless. */
export async function eraseInChannel(ctx: Transaction, place: ErasureTarget) {
  const { db } = ctx
  const { appId, channelId, userId } = place
  const [, [user], [row], [member]] = await Promise.all([
    lockChannels(db, appId, [channelId]),
    // While this is held the id can not become a new user's.
    db<{ id: string; name: string; image: null }[]>`
      select id, display_name as name, image from users
      where app_id = ${appId} and id = ${userId} and deleted_at is not null and forgotten_at is null for share`,
    db<
      ChannelRow[]
    >`select * from channels where app_id = ${appId} and id = ${channelId} and deleted_at is null`,
    db<
      Pick<MemberRow, 'role'>[]
    >`select role from members where channel_id = ${channelId} and user_id = ${userId}`,
  ])
  if (!user || !row) return
  const channel = asLocked(row)
  if (member) await removeMember(ctx, channel, { user, role: member.role })
  const isRest = [
    await takeReactions(ctx, channel, user),
    await buryMessages(ctx, channel, userId),
  ].every((count) => count < STEP)
  if (isRest) ctx.write(releaseKeys(db, place))
}

async function takeReactions(
  ctx: Transaction,
  channel: LockedChannel,
  user: { id: string; name: string; image: null },
) {
  const { db } = ctx
  const taken = await db<{ messageId: string; emoji: string }[]>`
    delete from reactions r using (
      select o.message_id, o.emoji from reactions o join messages m on m.id = o.message_id
      where o.app_id = ${channel.appId} and o.user_id = ${user.id} and m.channel_id = ${channel.id} order by m.seq limit ${STEP}
    ) gone
    where r.message_id = gone.message_id and r.emoji = gone.emoji and r.user_id = ${user.id}
    returning r.message_id, r.emoji`
  if (taken.length === 0) return 0
  const views = await selectMessages(db, {
    viewer: null,
    which: db`where m.id = any(${taken.map(({ messageId }) => messageId)}::uuid[])`,
  })
  const messages = new Map(views.map((view) => [view.id, asBroadcast(toMessage(view))]))
  const revs = new Map<string, number>()
  for (const { messageId, emoji } of taken) {
    const { reactions = [] } = messages.get(messageId) ?? {}
    const tell = (rev: number) => {
      revs.set(messageId, rev)
      return {
        channelId: channel.id,
        messageId,
        reaction: { type: emoji, userId: user.id },
        user,
        reactions,
      }
    }
    ctx.emit(channel, 'reaction.removed', tell, messageId)
  }
  writeRevs(ctx, revs)
  return taken.length
}

/** Tombstones keep nothing that could stand in the way of a new user with this id, the sender's own key included. */
async function buryMessages(ctx: Transaction, channel: LockedChannel, userId: string) {
  const { db } = ctx
  const messages = await db<DatedMessage[]>`
    select *, clock_timestamp() as now from messages
    where channel_id = ${channel.id} and user_id = ${userId} and (deleted_at is null or client_id is not null) order by seq limit ${STEP}`
  if (messages.length === 0) return 0
  await tombstone(
    ctx,
    channel,
    messages.filter(({ deletedAt }) => deletedAt === null),
  )
  ctx.write(
    db`update messages set client_id = null where id = any(${messages.map(({ id }) => id)}::uuid[])`,
  )
  return messages.length
}

/** Nothing is left here: a direct message frees its pair, a channel its creator's key. */
const releaseKeys = (db: Tx, { channelId, userId }: ErasureTarget) => db`
  with former as (delete from former_members where channel_id = ${channelId} and user_id = ${userId})
  update channels set dm_key = null, client_id = case when created_by = ${userId} then null else client_id end
  where id = ${channelId} and (dm_key is not null or (created_by = ${userId} and client_id is not null))`

/** Sets the ids of those free of whom nothing is left. */
export async function finishErasure(
  { db }: Pick<Transaction, 'db'>,
  appId: string,
  userIds: string[],
) {
  const forgotten = await db<{ id: string }[]>`
    update users u set forgotten_at = clock_timestamp()
    where (u.app_id, u.id) in (
        select app_id, id from users where app_id = ${appId} and id = any(${userIds}) and deleted_at is not null and forgotten_at is null order by id for no key update
      )
      and not exists (select from members p join channels c on c.id = p.channel_id and c.deleted_at is null where p.app_id = u.app_id and p.user_id = u.id)
      and not exists (select from former_members p join channels c on c.id = p.channel_id and c.deleted_at is null where p.app_id = u.app_id and p.user_id = u.id)
    returning u.id`
  await db`delete from events where topic = any(${forgotten.map(({ id }) => topics.user(appId, id))})`
}
