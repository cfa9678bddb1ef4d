import type { WorkspaceRole } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import type { Tx } from '../../db/client.ts'

type EndedMembership = { workspaceId: string; userId: string }

/**
 * How many invites expire at once when their creators leave. All the others are void, too, but stay
 * until their own end.
 */
const MOST_INVITES = 1_000

/**
 * Ends memberships of workspaces that are locked. The invites of those who leave are void with
 * that. A last owner is followed by the oldest admin, else the oldest member.
 */
export async function leaveWorkspaces({ db }: Pick<Transaction, 'db'>, ended: EndedMembership[]) {
  if (ended.length === 0) return
  const workspaceIds = ended.map(({ workspaceId }) => workspaceId)
  const userIds = ended.map(({ userId }) => userId)
  const given = db`
    unnest(${workspaceIds}::uuid[], ${userIds}::text[]) as given (workspace_id, user_id)`
  const left = await db<{ workspaceId: string; role: WorkspaceRole }[]>`
    delete from workspace_members wm
    using ${given}
    where wm.workspace_id = given.workspace_id
      and wm.user_id = given.user_id
    returning wm.workspace_id, wm.role`
  await db`
    update workspace_invites
    set expires_at = now()
    where id = any(array(
      select wi.id
      from ${given}
      join workspace_invites wi
        on wi.workspace_id = given.workspace_id
        and wi.created_by = given.user_id
        and wi.expires_at > now()
      limit ${MOST_INVITES}
    ))`
  // Only then: all members of a workspace are looked at.
  const ofOwners = left.filter(({ role }) => role === 'owner').map((each) => each.workspaceId)
  if (ofOwners.length > 0) await appointOwners(db, [...new Set(ofOwners)])
  await db`
    update workspaces w
    set updated_at = clock_timestamp()
    where w.id = any(${workspaceIds}::uuid[])
      and ${hasNoMembers(db)}`
}

/** The memberships of users, and locks on their workspaces. */
export async function lockMemberships(db: Tx, appId: string, userIds: string[]) {
  const ofThem = db`app_id = ${appId} and user_id = any(${userIds})`
  await db`
    select
    from workspaces
    where id in (
      select workspace_id
      from workspace_members
      where ${ofThem}
    )
    order by id
    for no key update`
  return db<EndedMembership[]>`
    select workspace_id, user_id
    from workspace_members
    where ${ofThem}`
}

/**
 * Makes the next member an owner in each of these workspaces that has none left. The members of a
 * workspace are read once for each question, and not for each of them.
 */
const appointOwners = (db: Tx, workspaceIds: string[]) => db`
  update workspace_members wm
  set role = 'owner'
  from unnest(${workspaceIds}::uuid[]) given (workspace_id)
  cross join lateral (
    select next.user_id
    from workspace_members next
    where next.workspace_id = given.workspace_id
    order by next.role = 'admin' desc, next.joined_at, next.user_id
    limit 1
  ) heir
  where wm.workspace_id = given.workspace_id
    and wm.user_id = heir.user_id
    and (
      select true
      from workspace_members owner
      where owner.workspace_id = given.workspace_id
        and owner.role = 'owner'
      limit 1
    ) is null`

/**
 * Whether workspace `w` has no members: a look-up of one row. `not exists` becomes a join, for
 * which PostgreSQL may read the members of all workspaces.
 */
export const hasNoMembers = (db: Tx) => db`(
  select true
  from workspace_members wm
  where wm.workspace_id = w.id
  limit 1
) is null`
