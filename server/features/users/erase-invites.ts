import type { Tx } from '../../db/client.ts'
import { joinDeleted, type TargetQuery } from './erase.ts'

/**
 * Servers of an earlier version store uses of invites without their app. The cleanup names it; what
 * is exported or erased now does not wait for that.
 */
export const nameAppOfUses = (db: Tx, { appId, userIds }: Pick<TargetQuery, 'appId' | 'userIds'>) =>
  db`
    update workspace_invite_uses wiu
    set app_id = wi.app_id
    from workspace_invites wi
    where wi.id = wiu.invite_id
      and wi.app_id = ${appId}
      and wiu.app_id is null
      and wiu.user_id = any(${userIds})`

/** Deletes that deleted users have joined by an invite. Others may still use it. */
export const deleteInviteUses = (
  db: Tx,
  { appId, userIds, limit }: Pick<TargetQuery, 'appId' | 'userIds' | 'limit'>,
) => db`
  delete from workspace_invite_uses
  where (invite_id, user_id) in (
    select wiu.invite_id, wiu.user_id
    from unnest(${userIds}::text[]) as given (user_id)
    ${joinDeleted(db, appId)}
    join workspace_invite_uses wiu on wiu.app_id = ${appId} and wiu.user_id = u.id
    limit ${limit}
  )`
