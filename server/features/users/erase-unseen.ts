import type { Transaction } from '../../core/context.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { tombstoneUnseen } from '../messages/delete.ts'
import {
  type ErasureTarget,
  lockDeletedUser,
  nameOfDeletion,
  type OwnMessages,
  selectOwn,
} from './erase.ts'

/**
 * Erases what deleted users have in imports that are not finished: in records that wait for the end
 * of their file, and in channels that nobody sees yet. There are no events of it.
 */

/** A walk over the waiting records of an app, in their order: how far it is. */
export type WaitingWalk = { record: string; key: string }
export const WALK_START: WaitingWalk = { record: '', key: '' }
type WaitingSlice = { appId: string; walk: WaitingWalk; limit: number }

/** The deletions of these users. */
export async function selectDeletions(
  db: Tx,
  { appId, userIds }: { appId: string; userIds: string[] },
) {
  const deletions = await db<{ name: string }[]>`
    select ${nameOfDeletion(db)} as name
    from users u
    where u.app_id = ${appId}
      and u.id = any(${userIds})
      and u.deleted_at is not null
      and u.forgotten_at is null`
  return deletions.map(({ name }) => name)
}

/**
 * Empties the next waiting messages of deleted users. Messages keep their places, so that a channel
 * is numbered as its file says, and become tombstones. Whatever else of the users waits is deleted.
 * Returns the position to continue from, or null at the end.
 */
export async function emptyWaiting(db: Tx, waiting: WaitingSlice): Promise<WaitingWalk | null> {
  // After this lock, everything is visible that a running import stored in a step that began before
  // the deletion.
  await db`
    select
    from imports i
    where i.app_id = ${waiting.appId}
    for update`
  const [last] = await emptySlice(db, waiting)
  if (!last || last.count < waiting.limit) return null
  return { record: last.record, key: last.key }
}

type LastRow = { record: string; key: string; count: number }

const emptySlice = (db: Tx, { appId, walk, limit }: WaitingSlice) => db<LastRow[]>`
  with slice as materialized (
    select
      ir.record, ir.key,
      case ir.record when 'refresh' then ir.key else ir."row" ->> 'userId' end as user_id,
      ir."row" -> 'erasedAt' is null as is_full
    from imported_rows ir
    where ir.app_id = ${appId}
      and (ir.record, ir.key) > (${walk.record}, ${walk.key})
    order by ir.record, ir.key
    limit ${limit}
  ),
  theirs as materialized (
    select slice.record, slice.key
    from slice
    cross join lateral (
      select
      from users u
      where u.app_id = ${appId}
        and u.id = slice.user_id
        and u.deleted_at is not null
        and u.forgotten_at is null
      limit 1
    ) deleted
    where slice.record <> 'message'
      or slice.is_full
  ),
  emptied as (
    update imported_rows ir
    set "row" = ir."row" || jsonb_build_object(
      'erasedAt', clock_timestamp(),
      'text', '', 'mentions', '[]'::jsonb, 'attachments', '[]'::jsonb, 'custom', null
    )
    where ir.app_id = ${appId}
      and ir.record = 'message'
      and ir.key = any(array(
        select key
        from theirs
        where record = 'message'
      ))
  ),
  removed as (
    delete from imported_rows ir
    using theirs
    where ir.app_id = ${appId}
      and ir.record = theirs.record
      and ir.key = theirs.key
      and ir.key = any(array(select key from theirs))
      and theirs.record <> 'message'
  )
  select record, key, (select count(*)::int from slice) as count
  from slice
  order by record desc, key desc
  limit 1`

/**
 * One step in a channel that nobody sees, yet or any more: the next of the user's messages become
 * tombstones, and at the end the user is no member. Returns the seq to go on after, or null when
 * nothing is left but reactions.
 */
export async function eraseUnseen(
  ctx: Transaction,
  target: ErasureTarget,
  walk: Omit<OwnMessages, 'userId'>,
) {
  const { channelId, userId } = target
  const [[channel], [user]] = await pipelined([
    lockUnseen(ctx.db, target),
    lockDeletedUser(ctx.db, target),
  ])
  if (!channel || !user) return null
  const messages = await selectOwn(ctx.db, channelId, { ...walk, userId })
  const undeleted = messages.filter(({ deletedAt }) => deletedAt === null)
  await tombstoneUnseen(ctx, target, undeleted)
  if (messages.length >= walk.limit) return messages.at(-1)?.seq ?? null
  ctx.queueWrite(leaveUnseen(ctx.db, target))
  return null
}

/**
 * Locks a channel that nobody sees, and none that was shown meanwhile. The steps of an import that
 * store reactions and pins, and the one that shows the channel, lock it, too.
 */
export const lockUnseen = (db: Tx, { appId, channelId }: ErasureTarget) => db`
  select
  from channels c
  where c.id = ${channelId}
    and c.app_id is not distinct from ${appId}
    and c.deleted_at is not null
  for no key update`

/** Notes that an owner has left: the members of an import may not all be read yet. */
const leaveUnseen = (db: Tx, { appId, channelId, userId }: ErasureTarget) => db`
  with membership as (
    delete from members
    where channel_id = ${channelId}
      and user_id = ${userId}
    returning role
  ),
  noted as (
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    select ${appId}::uuid, 'owner', c.id::text, c.id, 0, '{}'::jsonb
    from membership
    join channels c on c.id = ${channelId} and c.deleted_at = 'infinity'
    where membership.role = 'owner'
    on conflict do nothing
  ),
  former as (
    delete from former_members
    where channel_id = ${channelId}
      and user_id = ${userId}
  )
  update channels
  set dm_key = null
  where id = ${channelId}
    and dm_key is not null`
