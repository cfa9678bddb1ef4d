import { contract, type WorkspaceMember, type WorkspaceRole } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { noteAct } from '../../core/audit.ts'
import type { Context } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { lockCallerForShare } from '../access.ts'
import { userSummary } from '../users/view.ts'
import { lockedWorkspaceForMember, workspaceForMember } from './access.ts'
import { leaveWorkspaces } from './leave.ts'
import { selectWorkspaces } from './view.ts'

const list = implementWithoutTransaction(contract.workspaces.list, async ({ db, caller }) => ({
  workspaces: await selectWorkspaces(db, { ...caller, which: db`true` }),
}))

const create = implement(contract.workspaces.create, async (ctx, { name, type, image = null }) => {
  await lockCallerForShare(ctx)
  const { appId, userId } = ctx.caller
  const id = uuidv7()
  await ctx.db`
    insert into workspaces (id, app_id, name, type, image, created_by)
    values (${id}, ${appId}, ${name}, ${type}, ${image}, ${userId})`
  await ctx.db`
    insert into workspace_members (app_id, workspace_id, user_id, role)
    values (${appId}, ${id}, ${userId}, 'owner')`
  return viewWorkspace(ctx, id)
})

const members = implementWithoutTransaction(
  contract.workspaces.members,
  async (ctx, { workspaceId, limit, offset }) => {
    await workspaceForMember(ctx, workspaceId)
    const members = await ctx.db<WorkspaceMember[]>`
      select wm.user_id, ${userSummary(ctx.db)} as "user", wm.role, wm.joined_at
      from workspace_members wm
      join users u on u.app_id = wm.app_id and u.id = wm.user_id
      where wm.workspace_id = ${workspaceId}
      order by wm.joined_at, wm.user_id
      limit ${limit}
      offset ${offset}`
    return { members }
  },
)

const removeMember = implement(
  contract.workspaces.removeMember,
  async (ctx, { workspaceId, userId }) => {
    const { appId } = ctx.caller
    const own = await lockedWorkspaceForMember(ctx, workspaceId)
    const [member] = await ctx.db<{ role: WorkspaceRole }[]>`
      select role
      from workspace_members
      where workspace_id = ${workspaceId}
        and user_id = ${userId}`
    if (!member) throw new ApiError('NOT_FOUND', 'Member not found')
    if (userId !== ctx.caller.userId && !mayRemove(own.role, member.role)) {
      throw new ApiError('FORBIDDEN', 'Your role in this workspace does not allow this')
    }
    await leaveWorkspaces(ctx, { appId, userIds: [userId], workspaceId })
    ctx.emitToUser(userId, 'workspace.removed', { workspaceId })
    if (userId !== ctx.caller.userId)
      noteAct(ctx, { operation: 'workspaces.removeMember', target: { workspaceId, userId } })
    ctx.afterCommit(() => ctx.services.publisher.broadcast({ kind: 'rights', appId, userId }))
    return { success: true }
  },
)

export const workspaces = { list, create, members, removeMember } satisfies Implements<'workspaces'>

const mayRemove = (own: WorkspaceRole, theirs: WorkspaceRole) =>
  own === 'owner' || (own === 'admin' && theirs === 'member')

/** A workspace that the caller is known to be a member of. */
export async function viewWorkspace({ db, caller }: Context<'user'>, workspaceId: string) {
  const which = db`workspace.id = ${workspaceId}`
  const [workspace] = await selectWorkspaces(db, { ...caller, which })
  if (!workspace) throw new ApiError('NOT_FOUND', 'Workspace not found')
  return workspace
}
