import type { WorkspaceRole } from '@parley/contract'
import type { Context, WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'

/** The caller's role in a workspace that he is a member of. */
export async function workspaceForMember(
  { db, caller: { appId, userId } }: Context<'user'>,
  workspaceId: string,
): Promise<{ role: WorkspaceRole }> {
  const [workspace] = await db<{ role: WorkspaceRole | null }[]>`
    select m.role from workspaces w left join workspace_members m on m.workspace_id = w.id and m.user_id = ${userId}
    where w.app_id = ${appId} and w.id = ${workspaceId}`
  if (!workspace) return fail('NOT_FOUND', 'Workspace not found')
  return workspace.role === null
    ? fail('FORBIDDEN', 'You are not a member of this workspace')
    : { role: workspace.role }
}

/** The same, the workspace locked: who changes its members comes one after the other. */
export async function lockedWorkspaceForMember(ctx: WriteContext<'user'>, workspaceId: string) {
  await ctx.db`select from workspaces where app_id = ${ctx.caller.appId} and id = ${workspaceId} for no key update`
  return workspaceForMember(ctx, workspaceId)
}
