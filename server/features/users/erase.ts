import { topics, type UserSummary } from '@parley/contract'
import { noteJob } from '../../core/audit.ts'
import type { Transaction } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { MemberRow } from '../../db/rows.ts'
import { stateOfChannel } from '../../db/sql.ts'
import { asLocked, lockChannels, selectChannel } from '../channels/access.ts'
import { removeMember } from '../members/change.ts'
import type { DatedMessage } from '../messages/access.ts'
import { tombstone } from '../messages/delete.ts'
import { publicColumns } from './view.ts'

/** Erases what a deleted user has left, channel by channel, each step in a short transaction. */

export type ErasureTarget = { appId: string; channelId: string; userId: string }
/** `importing`: nobody sees the channel yet. `deleted`: nobody sees it any more. */
export type FoundTarget = ErasureTarget & { state: 'active' | 'importing' | 'deleted' }
/** A deletion has its own name, because an id may be used and deleted again. */
export type DeletedUser = { userId: string; deletion: string }
export type TargetQuery = {
  appId: string
  userIds: string[]
  exceptChannelIds: string[]
  limit: number
}

/**
 * The next channels where deleted users may have left something: channels that they are or were
 * members of. In random order, so that a failing channel is not always the first.
 */
export const selectErasureTargets = (db: Tx, query: TargetQuery) => db<FoundTarget[]>`
  select target.app_id, target.channel_id, target.user_id, target.state
  from (
    select target.*, ${stateOfChannel(db)} as state
    from unnest(${query.userIds}::text[]) given (user_id)
    ${joinDeleted(db, query.appId)}
    cross join lateral (
      ${channelsOf(db, db`members`, query)}
      union all
      ${channelsOf(db, db`former_members`, query)}
    ) target
    join channels c on c.id = target.channel_id
    limit ${query.limit}
  ) target
  order by random()`

/** The `given` users who are deleted and whose erasure has not ended. */
export const joinDeleted = (db: Tx, appId: string) => db`
  join users u
    on u.app_id = ${appId}
    and u.id = given.user_id
    and u.deleted_at is not null
    and u.forgotten_at is null`

/** The name of the deletion of user `u`. */
export const nameOfDeletion = (db: Tx) => db`(u.deleted_at || ' ' || u.id)`

const channelsOf = (db: Tx, table: Fragment, { appId, exceptChannelIds }: TargetQuery) => db`
  select of_user.app_id, of_user.channel_id, of_user.user_id
  from ${table} of_user
  where of_user.app_id = ${appId}
    and of_user.user_id = given.user_id
    and of_user.channel_id <> all(${exceptChannelIds}::uuid[])`

/** Removes read marks of one member, so that the member does not leave with all of them at once. */
export const removeReadMarks = (db: Tx, { channelId, userId }: ErasureTarget, limit: number) => db`
  delete from read_marks
  where (channel_id, user_id, seq) in (
    select rm.channel_id, rm.user_id, rm.seq
    from read_marks rm
    join users u on u.app_id = rm.app_id and u.id = rm.user_id and u.deleted_at is not null
    where rm.channel_id = ${channelId}
      and rm.user_id = ${userId}
    limit ${limit}
  )`

type MessageWalk = { afterSeq: number; limit: number }

/**
 * One step in one channel: the user leaves, and the next of their messages become tombstones.
 * Repeating it is harmless. Returns the seq to go on after, or null when nothing is left.
 */
export async function eraseInChannel(ctx: Transaction, target: ErasureTarget, walk: MessageWalk) {
  const [{ channel, user }, [member]] = await pipelined([
    lockTarget(ctx.db, target),
    selectMember(ctx.db, target),
  ])
  if (!channel || !user) return null
  if (member) await removeMember(ctx, channel, { user, role: member.role })
  const lastSeq = await eraseMessages(ctx, channel, { ...walk, userId: target.userId })
  if (lastSeq === null) ctx.queueWrite(releaseKeys(ctx.db, target))
  return lastSeq
}

/** The channel and the user, locked; neither if it has gone meanwhile. */
export async function lockTarget(db: Tx, target: ErasureTarget) {
  const { appId, channelId } = target
  const [, [user], [row]] = await pipelined([
    lockChannels(db, appId, [channelId]),
    lockDeletedUser(db, target),
    selectChannel(db, appId, channelId),
  ])
  return { channel: row && asLocked(row), user }
}

/** While this lock is held, the id cannot become a new user's. */
export const lockDeletedUser = (db: Tx, { appId, userId }: ErasureTarget) => db<UserSummary[]>`
  select u.id, ${publicColumns(db)}
  from users u
  where u.app_id = ${appId}
    and u.id = ${userId}
    and u.deleted_at is not null
    and u.forgotten_at is null
  for share`

type MemberRole = Pick<MemberRow, 'role'>

const selectMember = (db: Tx, { channelId, userId }: ErasureTarget) => db<MemberRole[]>`
  select role
  from members
  where channel_id = ${channelId}
    and user_id = ${userId}`

export type OwnMessages = MessageWalk & { userId: string }

/** The next messages of a user in a channel. */
export const selectOwn = (db: Tx, channelId: string, { userId, afterSeq, limit }: OwnMessages) =>
  db<DatedMessage[]>`
    select *, clock_timestamp() as now
    from messages
    where channel_id = ${channelId}
      and user_id collate "C" = ${userId}
      and seq > ${afterSeq}
    order by seq
    limit ${limit}`

/**
 * Tombstones keep nothing that could get in the way of a new user with this id, the sender's client
 * id included. Messages that are tombstones already count towards the limit, so that a step is
 * short wherever it starts. Returns the last seq, or null after the user's last message.
 */
async function eraseMessages(ctx: Transaction, channel: LockedChannel, own: OwnMessages) {
  const { db } = ctx
  const messages = await selectOwn(db, channel.id, own)
  const undeleted = messages.filter(({ deletedAt }) => deletedAt === null)
  await tombstone(ctx, channel, undeleted)
  const ids = messages.flatMap(({ id, clientId }) => (clientId === null ? [] : id))
  if (ids.length > 0) {
    ctx.queueWrite(db`
      update messages
      set client_id = null
      where id = any(${ids}::uuid[])`)
  }
  return messages.length < own.limit ? null : (messages.at(-1)?.seq ?? null)
}

/**
 * When nothing is left in a channel, a direct message releases its pair, and a channel its
 * creator's client id.
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

/** Deletes events of deleted users' own topics. */
export function deleteUserEvents(
  db: Tx,
  { appId, userIds, limit }: Pick<TargetQuery, 'appId' | 'userIds' | 'limit'>,
) {
  const userTopics = userIds.map((id) => topics.user(appId, id))
  return db`
    delete from events
    where (topic, "offset") in (
      select e.topic, e."offset"
      from unnest(${userIds}::text[], ${userTopics}::text[]) as given (user_id, topic)
      ${joinDeleted(db, appId)}
      join events e on e.topic = given.topic
      limit ${limit}
    )`
}

type FinishQuery = Pick<TargetQuery, 'appId' | 'userIds'> & {
  /** Whether to wait for users whose rows others have locked, instead of leaving them out. */
  waitsForLocks: boolean
}

/** Releases the ids of deleted users of whom no channel holds anything; returns how many. */
export async function finishErasure(
  { db }: Pick<Transaction, 'db'>,
  { appId, userIds, waitsForLocks }: FinishQuery,
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
        for no key update ${waitsForLocks ? db`` : db`skip locked`}
      )
      and not exists (
        select
        from members m
        where m.app_id = u.app_id
          and m.user_id = u.id
      )
      and not exists (
        select
        from former_members fm
        where fm.app_id = u.app_id
          and fm.user_id = u.id
      )
      and not exists (
        select
        from text_removals tr
        join messages msg on msg.id = tr.message_id
        where tr.app_id = u.app_id
          and msg.user_id = u.id
      )
    returning u.id`
  const ids = erased.map(({ id }) => id)
  await db`
    delete from events
    where topic = any(${ids.map((id) => topics.user(appId, id))})`
  if (ids.length > 0)
    await noteJob(db, { operation: 'users.erased', appId, target: { userIds: ids } })
  return ids.length
}
