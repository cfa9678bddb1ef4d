import type { Transaction } from '../../core/context.ts'

type Leavers = { appId: string; userIds: string[]; workspaceId?: string }

/** Takes users out of a workspace, or of all. The last owner hands over to the oldest admin, else to the oldest member. */
export async function leaveWorkspaces(
  { db }: Pick<Transaction, 'db'>,
  { appId, userIds, workspaceId }: Leavers,
) {
  const which = workspaceId === undefined ? db`true` : db`workspace_id = ${workspaceId}`
  const locked = await db<{ id: string }[]>`
    select id from workspaces
    where id in (select workspace_id from workspace_members where app_id = ${appId} and user_id = any(${userIds}) and ${which}) order by id for no key update`
  if (locked.length === 0) return
  const ids = locked.map(({ id }) => id)
  await db`delete from workspace_members where workspace_id = any(${ids}::uuid[]) and user_id = any(${userIds})`
  await db`
    update workspace_members m set role = 'owner'
    where (workspace_id, user_id) in (
      select distinct on (workspace_id) workspace_id, user_id from workspace_members heir
      where workspace_id = any(${ids}::uuid[]) and not exists (select from workspace_members o where o.workspace_id = heir.workspace_id and o.role = 'owner')
      order by workspace_id, role = 'admin' desc, joined_at, user_id
    )`
}
