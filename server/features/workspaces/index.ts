import { contract, type WorkspaceMember, type WorkspaceRole } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { noteAct } from '../../core/audit.ts'
import type { Context } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { memberNotFound, workspaceNotFound } from '../../core/refusals.ts'
import { lockCallerForShare } from '../channels/access.ts'
import {
  encodeCursor,
  joinedAfter,
  joinedMicros,
  joinedWorkspaceAfter,
  memberCursor,
  toFittingPage,
} from '../cursors.ts'
import { fittingProfiles } from '../members/view.ts'
import { lockedWorkspaceForMember, workspaceForMember } from './access.ts'
import { leaveWorkspaces } from './leave.ts'
import { selectWorkspaces } from './view.ts'

const list = implementWithoutTransaction(
  contract.workspaces.list,
  async ({ db, caller }, { limit, cursor }) => {
    const which = db`
      ${joinedWorkspaceAfter(db, cursor)}
      order by wm.joined_at, wm.workspace_id
      limit ${limit + 1}`
    const rows = await selectWorkspaces(db, { ...caller, which })
    const { page, nextCursor } = toFittingPage(rows, limit, ({ joinedMicros, id }) =>
      encodeCursor(joinedMicros, id),
    )
    return { workspaces: page.map(({ joinedMicros: _, ...workspace }) => workspace), nextCursor }
  },
)

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

type ListedWorkspaceMember = WorkspaceMember & { joinedMicros: string; hasNext: true | null }

const members = implementWithoutTransaction(
  contract.workspaces.members,
  async (ctx, { workspaceId, limit, offset, cursor }) => {
    const { db } = ctx
    await workspaceForMember(ctx, workspaceId)
    const rows = db`
      select wm.*
      from workspace_members wm
      where wm.workspace_id = ${workspaceId}
        and ${joinedAfter(db, cursor, db`wm`)}
      order by wm.joined_at, wm.user_id
      limit ${limit + 1}
      offset ${offset}`
    const found = await db<ListedWorkspaceMember[]>`
      select
        m.user_id, m.profile as "user", m.role, m.joined_at,
        ${joinedMicros(db)} as joined_micros,
        m.has_next
      from (${fittingProfiles(db, { rows })}) m
      order by m.joined_at, m.user_id`
    const { page, nextCursor } = toFittingPage(found, limit, memberCursor)
    return { members: page.map(({ joinedMicros: _, ...member }) => member), nextCursor }
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
    if (!member) throw memberNotFound()
    if (userId !== ctx.caller.userId && !mayRemove(own.role, member.role)) {
      throw new ApiError('FORBIDDEN', 'Your role in this workspace does not allow this')
    }
    await leaveWorkspaces(ctx, [{ workspaceId, userId }])
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
  const which = db`wm.workspace_id = ${workspaceId}`
  const [found] = await selectWorkspaces(db, { ...caller, which })
  if (!found) throw workspaceNotFound()
  const { joinedMicros: _, hasNext: __, ...workspace } = found
  return workspace
}
