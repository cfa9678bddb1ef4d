import type { WorkspaceRole } from '@parley/contract'
import type { Context, WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { workspaceNotFound } from '../../core/refusals.ts'

/** The caller's role in a workspace that they are a member of. */
export async function workspaceForMember(
  { db, caller: { appId, userId } }: Context<'user'>,
  workspaceId: string,
): Promise<{ role: WorkspaceRole }> {
  const [workspace] = await db<{ role: WorkspaceRole | null }[]>`
    select wm.role
    from workspaces w
    left join workspace_members wm on wm.workspace_id = w.id and wm.user_id = ${userId}
    where w.app_id = ${appId}
      and w.id = ${workspaceId}`
  if (!workspace) throw workspaceNotFound()
  const { role } = workspace
  if (role === null) throw new ApiError('FORBIDDEN', 'You are not a member of this workspace')
  return { role }
}

/** A workspace of the app, for its backend, which is not deleted until the transaction ends. */
export async function requireWorkspace(
  { db, caller: { appId } }: WriteContext<'userOrKey'>,
  workspaceId: string,
) {
  const [workspace] = await db<{ id: string }[]>`
    select id
    from workspaces
    where app_id = ${appId}
      and id = ${workspaceId}
    for key share`
  if (!workspace) throw workspaceNotFound()
}

/**
 * A workspace that the caller is a member of, locked: changes of its members happen one after the
 * other.
 */
export async function lockedWorkspaceForMember(ctx: WriteContext<'user'>, workspaceId: string) {
  await ctx.db`
    select
    from workspaces
    where app_id = ${ctx.caller.appId}
      and id = ${workspaceId}
    for no key update`
  return workspaceForMember(ctx, workspaceId)
}
