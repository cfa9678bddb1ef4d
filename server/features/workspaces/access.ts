import type { WorkspaceRole } from '@parley/contract'
import type { Context, WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { workspaceNotFound } from '../../core/refusals.ts'
import type { Fragment } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'

/** The caller's role in a workspace that they are a member of. */
export async function workspaceForMember(ctx: Context<'user'>, workspaceId: string) {
  const [workspace] = await selectOwnRole(ctx, workspaceId)
  return requireMember(workspace)
}

type OwnRole = { role: WorkspaceRole | null }

const selectOwnRole = (
  { db, caller: { appId, userId } }: Context<'user'>,
  workspaceId: string,
) => db<OwnRole[]>`
  select wm.role
  from workspaces w
  left join workspace_members wm on wm.workspace_id = w.id and wm.user_id = ${userId}
  where w.app_id = ${appId}
    and w.id = ${workspaceId}`

function requireMember(workspace: OwnRole | undefined): { role: WorkspaceRole } {
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
export const lockedWorkspaceForMember = (ctx: WriteContext<'user'>, workspaceId: string) =>
  lockedFor(ctx, workspaceId, ctx.db`for no key update`)

/**
 * A workspace that the caller is a member of until the transaction ends: nobody leaves it
 * meanwhile. Others may hold this lock, too.
 */
export const sharedWorkspaceForMember = (ctx: WriteContext<'user'>, workspaceId: string) =>
  lockedFor(ctx, workspaceId, ctx.db`for share`)

async function lockedFor(ctx: WriteContext<'user'>, workspaceId: string, lock: Fragment) {
  const { db, caller } = ctx
  // The role is read by a statement after the lock: the locking one still sees the data from before
  // its wait.
  const [, [workspace]] = await pipelined([
    db`
      select
      from workspaces
      where app_id = ${caller.appId}
        and id = ${workspaceId}
      ${lock}`,
    selectOwnRole(ctx, workspaceId),
  ])
  return requireMember(workspace)
}
