import { randomBytes } from 'node:crypto'
import { contract, type Invite, limits, type WorkspaceRole, workspaceRoles } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { noteAct } from '../core/audit.ts'
import type { Context, WriteContext } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { LAST_ID } from '../db/sql.ts'
import { lockCallerForShare } from './channels/access.ts'
import { decodeIdCursor, encodeCursor, toPage } from './cursors.ts'
import { sharedWorkspaceForMember, workspaceForMember } from './workspaces/access.ts'
import { viewWorkspace } from './workspaces/index.ts'

const create = implement(
  contract.invites.create,
  async (ctx, { workspaceId, maxUses = null, expiresInDays, role }) => {
    await lockCallerForShare(ctx)
    const own = await sharedWorkspaceForMember(ctx, workspaceId)
    if (!mayInvite(own.role, role)) {
      throw new ApiError(
        'FORBIDDEN',
        'Only owners and admins can invite, and only to their own role or a lower one',
      )
    }
    const { appId, userId } = ctx.caller
    const token = randomBytes(16).toString('base64url')
    const [invite] = await ctx.db<{ id: string; expiresAt: string }[]>`
      insert into workspace_invites (
        id, app_id, workspace_id,
        token_hash, role, max_uses,
        created_by, expires_at
      )
      values (
        ${uuidv7()}, ${appId}, ${workspaceId},
        ${sha256(token)}, ${role}, ${maxUses},
        ${userId}, now() + ${expiresInDays} * interval '1 day'
      )
      returning id, expires_at`
    if (!invite) throw new Error('the insert of an invite returned no row')
    if (role !== 'member') {
      const target = { workspaceId, inviteId: invite.id, role }
      noteAct(ctx, { operation: 'invites.create', target })
    }
    return { ...invite, token, inviteUrl: ctx.services.inviteUrl(token) }
  },
)

const list = implementWithoutTransaction(
  contract.invites.list,
  async (ctx, { workspaceId, limit, offset, cursor }) => {
    await requireInviter(ctx, workspaceId)
    const { db } = ctx
    const before = cursor === undefined ? LAST_ID : decodeIdCursor(cursor)
    const older = newestFirst(db, { workspaceId, before })
    const found = await db<Invite[]>`
      select
        wi.id, wi.role, wi.uses, wi.max_uses,
        wi.created_by, wi.created_at, wi.expires_at
      from (
        select wi.*
        ${older}
        limit ${limits.invitesSlice}
      ) wi
      where ${isValid(db)}
      order by wi.id desc
      limit ${limit + 1}
      offset ${offset}`
    const { page, nextCursor } = toPage(found, limit, cursorOf)
    if (nextCursor !== null) return { invites: page, nextCursor }
    const [last] = await db<{ id: string }[]>`
      select wi.id ${older}
      limit 1
      offset ${limits.invitesSlice - 1}`
    return { invites: page, nextCursor: last ? cursorOf(last) : null }
  },
)

type Older = { workspaceId: string; before: string }

/** The invites of a workspace in the order of an index. Any number of them may be void. */
const newestFirst = (db: Tx, { workspaceId, before }: Older) => db`
  from workspace_invites wi
  where wi.workspace_id = ${workspaceId}
    and wi.id < ${before}
  order by wi.id desc`

const cursorOf = ({ id }: { id: string }) => encodeCursor(id, '')

/** The cleanup deletes the row later, because it may have any number of uses. */
const revoke = implement(contract.invites.revoke, async (ctx, { workspaceId, inviteId }) => {
  await requireInviter(ctx, workspaceId)
  const { count } = await ctx.db`
    update workspace_invites
    set expires_at = now()
    where id = ${inviteId}
      and workspace_id is not distinct from ${workspaceId}
      and expires_at > now()`
  if (count === 0) throw new ApiError('NOT_FOUND', 'Invite not found or expired')
  noteAct(ctx, { operation: 'invites.revoke', target: { workspaceId, inviteId } })
  return { success: true }
})

const accept = implement(contract.invites.accept, async (ctx, { token }) => {
  await lockCallerForShare(ctx)
  const invite = await lockedInvite(ctx, token)
  if (!invite.isMember) {
    // Coming back with the same invite does not count as another use, but one must still be left.
    if (invite.maxUses !== null && invite.uses >= invite.maxUses) {
      throw new ApiError('FORBIDDEN', 'This invite has been used up')
    }
    await join(ctx, invite)
  }
  return { workspace: await viewWorkspace(ctx, invite.workspaceId) }
})

export const invites = { create, list, revoke, accept } satisfies Implements<'invites'>

const mayInvite = (own: WorkspaceRole, role: WorkspaceRole) =>
  own !== 'member' && workspaceRoles.indexOf(role) >= workspaceRoles.indexOf(own)

async function requireInviter(ctx: Context<'user'>, workspaceId: string) {
  const own = await workspaceForMember(ctx, workspaceId)
  if (!mayInvite(own.role, 'member')) {
    throw new ApiError('FORBIDDEN', 'Only owners and admins can see and revoke invites')
  }
}

/**
 * Whether invite `wi` has not expired, and its creator has been a member since then who could still
 * create it: see mayInvite. With `exists` PostgreSQL would join all members of the workspace,
 * however many.
 */
const isValid = (db: Tx) => db`(
  wi.expires_at > now()
  and (
    select
      wm.joined_at <= wi.created_at
      and (wm.role = 'owner' or (wm.role = 'admin' and wi.role <> 'owner'))
    from workspace_members wm
    where wm.workspace_id = wi.workspace_id
      and wm.user_id = wi.created_by
  )
)`

type UsableInvite = {
  id: string
  workspaceId: string
  role: WorkspaceRole
  uses: number
  maxUses: number | null
  isMember: boolean
}

/** A valid invite, locked: uses are counted one after the other. */
async function lockedInvite(
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  token: string,
): Promise<UsableInvite> {
  const valid = db`
    wi.app_id = ${appId}
    and wi.token_hash = ${sha256(token)}
    and ${isValid(db)}`
  const [, [invite]] = await pipelined([
    db`
      select
      from workspace_invites wi
      where ${valid}
      for update of wi`,
    db<UsableInvite[]>`
      select
        wi.id, wi.workspace_id, wi.role, wi.uses, wi.max_uses,
        exists (
          select
          from workspace_members wm
          where wm.workspace_id = wi.workspace_id
            and wm.user_id = ${userId}
        ) as is_member
      from workspace_invites wi
      where ${valid}`,
  ])
  if (!invite) throw new ApiError('NOT_FOUND', 'Invite not found or expired')
  return invite
}

/** The user may be joining by another invite at the same time: only the first counts as a use. */
const join = (
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  { id, workspaceId, role }: UsableInvite,
) => db`
  with joined as (
    insert into workspace_members (app_id, workspace_id, user_id, role)
    values (${appId}, ${workspaceId}, ${userId}, ${role})
    on conflict do nothing
    returning user_id
  ),
  used as (
    insert into workspace_invite_uses (app_id, invite_id, user_id)
    select ${appId}, ${id}, user_id
    from joined
    on conflict do nothing
    returning user_id
  )
  update workspace_invites
  set uses = uses + 1
  where id = ${id}
    and exists (select from used)`
