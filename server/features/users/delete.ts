import type { WriteContext } from '../../core/context.ts'
import { leaveWorkspaces } from '../workspaces/leave.ts'

/**
 * Deletes the live users among these: wipes what is theirs alone and ends their tokens. What they left in channels is
 * forgotten channel by channel afterwards (see forget.ts). Answers whom it deleted.
 */
export async function deleteUsers(
  ctx: Pick<WriteContext, 'db' | 'write' | 'enqueue' | 'afterCommit' | 'services'>,
  appId: string,
  userIds: string[],
) {
  const { db, services } = ctx
  // Waits for every transaction that makes something theirs (keepUsers), and keeps new ones out: what is read below is all there is.
  const found = await db<{ id: string }[]>`
    select id from users where app_id = ${appId} and id = any(${userIds}) and deleted_at is null order by id for update`
  const gone = found.map(({ id }) => id)
  if (gone.length === 0) return []
  await leaveWorkspaces(ctx, { appId, userIds: gone })
  ctx.write(db`
    with devices as (delete from devices where app_id = ${appId} and user_id = any(${gone})),
      preferences as (delete from preferences where app_id = ${appId} and user_id = any(${gone}))
    update users
    set name = null, email = null, image = null, custom = '{}', last_active_at = null, token_generation = token_generation + 1,
      updated_at = clock_timestamp(), deleted_at = clock_timestamp()
    where app_id = ${appId} and id = any(${gone})`)
  for (const userId of gone) ctx.enqueue('subscriber', { userId })
  ctx.afterCommit(() => {
    for (const userId of gone) services.revocations.publish({ appId, userId })
    services.erasure.wake()
  })
  return gone
}
