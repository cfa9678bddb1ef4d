import type { Transaction } from '../../core/context.ts'
import type { Tx } from '../../db/client.ts'

type Leavers = { appId: string; userIds: string[]; workspaceId?: string }

/**
 * Takes users out of a workspace, or of all, and voids their invites to it. A last owner is
 * followed by the oldest admin, else the oldest member.
 */
export async function leaveWorkspaces({ db }: Pick<Transaction, 'db'>, leavers: Leavers) {
  const locked = await lockWorkspaces(db, leavers)
  if (locked.length === 0) return
  const ids = locked.map(({ id }) => id)
  await db`
    delete from workspace_members
    where workspace_id = any(${ids}::uuid[])
      and user_id = any(${leavers.userIds})`
  await db`
    update workspace_invites
    set expires_at = now()
    where workspace_id = any(${ids}::uuid[])
      and created_by = any(${leavers.userIds})
      and expires_at > now()`
  await appointOwners(db, ids)
  await db`
    update workspaces w
    set updated_at = clock_timestamp()
    where w.id = any(${ids}::uuid[])
      and ${hasNoMembers(db)}`
}

function lockWorkspaces(db: Tx, { appId, userIds, workspaceId }: Leavers) {
  const isLeft = workspaceId === undefined ? db`true` : db`workspace_id = ${workspaceId}`
  return db<{ id: string }[]>`
    select id
    from workspaces
    where id in (
      select workspace_id
      from workspace_members
      where app_id = ${appId}
        and user_id = any(${userIds})
        and ${isLeft}
    )
    order by id
    for no key update`
}

/** Makes the next member an owner in each of these workspaces that has none left. */
const appointOwners = (db: Tx, workspaceIds: string[]) => db`
  update workspace_members wm
  set role = 'owner'
  where (workspace_id, user_id) in (
    select distinct on (workspace_id) workspace_id, user_id
    from workspace_members heir
    where workspace_id = any(${workspaceIds}::uuid[])
      and not exists (
        select from workspace_members owner
        where owner.workspace_id = heir.workspace_id
          and owner.role = 'owner'
      )
    order by workspace_id, role = 'admin' desc, joined_at, user_id
  )`

/** Whether workspace `w` has no members. */
export const hasNoMembers = (db: Tx) => db`not exists (
  select from workspace_members wm
  where wm.workspace_id = w.id
)`
