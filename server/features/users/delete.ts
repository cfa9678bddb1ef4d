import type { WriteContext } from '../../core/context.ts'
import type { Tx } from '../../db/client.ts'
import { leaveWorkspaces, lockMemberships } from '../workspaces/leave.ts'

type DeleteContext = Pick<
  WriteContext,
  'db' | 'queueWrite' | 'enqueue' | 'afterCommit' | 'services'
>

/**
 * Deletes those of these users who exist: wipes what is theirs alone and revokes their tokens. What
 * they left in channels is erased afterwards, channel by channel (see erase.ts). Returns the ids of
 * the deleted users.
 */
export async function deleteUsers(ctx: DeleteContext, appId: string, userIds: string[]) {
  const { db, services } = ctx
  const deleted = await lockUsers(db, appId, userIds)
  const ids = deleted.map(({ id }) => id)
  if (ids.length === 0) return []
  await leaveWorkspaces(ctx, await lockMemberships(db, appId, ids))
  ctx.queueWrite(wipeUsers(db, appId, ids))
  for (const userId of ids) ctx.enqueue('subscriber-removal', { userId })
  ctx.afterCommit(() => {
    for (const { id: userId, generation } of deleted)
      services.revocations.publish({ appId, userId, generation })
    services.erasure.wake()
  })
  return ids
}

type Deleted = { id: string; generation: number }

/**
 * Waits for every transaction that makes something theirs (lockUsersForShare), and keeps new ones
 * out: what is read after this is complete. Their tokens are of generations before this one.
 */
const lockUsers = (db: Tx, appId: string, userIds: string[]) => db<Deleted[]>`
  select id, token_generation + 1 as generation
  from users
  where app_id = ${appId}
    and id = any(${userIds})
    and deleted_at is null
  order by id
  for update`

const wipeUsers = (db: Tx, appId: string, ids: string[]) => db`
  with devices as (
    delete from devices
    where app_id = ${appId}
      and user_id = any(${ids})
  ),
  preferences as (
    delete from preferences
    where app_id = ${appId}
      and user_id = any(${ids})
  )
  update users
  set
    name = null, email = null, image = null, custom = '{}',
    last_active_at = null, profile_changed_at = null, token_generation = token_generation + 1,
    updated_at = clock_timestamp(), deleted_at = clock_timestamp()
  where app_id = ${appId}
    and id = any(${ids})`
