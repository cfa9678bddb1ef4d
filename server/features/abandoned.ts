import { contract, limits, type Output } from '@parley/contract'
import { noteAct } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import {
  type FirstStep,
  type Implements,
  implement,
  implementWithoutTransaction,
  RequiresFirstError,
} from '../core/operation.ts'
import { workspaceNotFound } from '../core/refusals.ts'
import type { Fragment, Tx } from '../db/client.ts'
import { FIRST_ID, inApp, LAST_ID } from '../db/sql.ts'
import { lockedChannelForApp } from './channels/access.ts'
import { markDeleted } from './channels/delete.ts'
import { decodeIdCursor, encodeCursor, toPage } from './cursors.ts'
import { hasNoMembers } from './workspaces/leave.ts'
import { removeInvites } from './workspaces/remove-invites.ts'

type AbandonedChannel = Output<typeof contract.abandoned.channels>['channels'][number]
type AbandonedWorkspace = Output<typeof contract.abandoned.workspaces>['workspaces'][number]

const channels = implementWithoutTransaction(
  contract.abandoned.channels,
  async ({ db, caller: { appId } }, { limit, cursor }) => {
    const slice = await selectIdSlice(db, { table: 'channels', appId, after: afterOf(cursor) })
    const found = await db<AbandonedChannel[]>`
      select id, type, name, workspace_id, created_at, last_activity_at
      from channels c
      where ${inApp(db, db`c`, { appId, ...slice })}
        and ${isAbandonedChannel(db)}
      order by app_id, id
      limit ${limit + 1}`
    const { page, nextCursor } = pageOf(found, limit, slice)
    return { channels: page, nextCursor }
  },
)

const deleteChannel = implement(contract.abandoned.deleteChannel, async (ctx, { channelId }) => {
  const channel = await lockedChannelForApp(ctx, ctx.caller.appId, channelId)
  if (channel.memberCount > 0) throw new ApiError('FORBIDDEN', 'The channel has members')
  markDeleted(ctx, channel)
  noteAct(ctx, { operation: 'abandoned.deleteChannel', target: { channelId } })
  ctx.afterCommit(ctx.services.erasure.wake)
  return { success: true }
})

const workspaces = implementWithoutTransaction(
  contract.abandoned.workspaces,
  async ({ db, caller: { appId } }, { limit, cursor }) => {
    const slice = await selectIdSlice(db, { table: 'workspaces', appId, after: afterOf(cursor) })
    const found = await db<AbandonedWorkspace[]>`
      select id, name, created_at, updated_at
      from workspaces w
      where ${inApp(db, db`w`, { appId, ...slice })}
        and ${hasNoMembers(db)}
      order by app_id, id
      limit ${limit + 1}`
    const { page, nextCursor } = pageOf(found, limit, slice)
    return { workspaces: page, nextCursor }
  },
)

const deleteWorkspace = implement(
  contract.abandoned.deleteWorkspace,
  async (ctx, { workspaceId }) => {
    const { db, caller } = ctx
    const { appId } = caller
    const [workspace] = await lockWorkspace(db, { appId, id: workspaceId })
    if (!workspace) throw workspaceNotFound()
    const [invite] = await invitesOfAbandoned(db, { id: workspaceId, limit: 1 })
    if (invite) throw new RequiresFirstError(removeInvitesOf({ appId, id: workspaceId }))
    const { count } = await deleteIfAbandoned(db, workspaceId)
    if (count === 0) throw new ApiError('FORBIDDEN', 'The workspace has members or channels')
    noteAct(ctx, { operation: 'abandoned.deleteWorkspace', target: { workspaceId } })
    return { success: true }
  },
)

export const abandoned = {
  channels,
  deleteChannel,
  workspaces,
  deleteWorkspace,
} satisfies Implements<'abandoned'>

/** A range of a table's ids: after one, up to and including another. */
export type IdSlice = { after: string; last: string; isLast: boolean }
type SliceQuery = {
  table: 'channels' | 'workspaces'
  /** Restricts the search to one app. */
  appId?: string
  after?: string | undefined
}

/**
 * The next slice of a walk over a table. There is no index of abandoned rows: every join and leave
 * would write to it, for the few that are ever found.
 */
export async function selectIdSlice(db: Tx, { table, appId, after = FIRST_ID }: SliceQuery) {
  const [end] = await db<{ id: string }[]>`
    select own.id
    from ${db(table)} own
    where ${appId === undefined ? db`own.id > ${after}` : inApp(db, db`own`, { appId, after })}
    order by ${appId === undefined ? db`own.id` : db`own.app_id, own.id`}
    offset ${limits.abandoned.slice - 1}
    limit 1`
  return { after, last: end?.id ?? LAST_ID, isLast: end === undefined }
}

export const isWithin = (db: Tx, { after, last }: IdSlice) => db`(id > ${after} and id <= ${last})`

/** Whether the channel has no members any more. */
export const isAbandonedChannel = (db: Tx) => db`(member_count = 0 and deleted_at is null)`

/** Locks a workspace against new members and channels: they refer to it. */
export const lockWorkspace = (db: Tx, { appId, id }: { appId: string; id: string }) => db`
  select
  from workspaces
  where id = ${id}
    and app_id is not distinct from ${appId}
  for update`

/** Deletes a locked workspace, unless it has members or channels. Its invites go first. */
export const deleteIfAbandoned = (db: Tx, id: string, mayDelete = db`true`) => db`
  delete from workspaces w
  where ${isAbandonedWorkspace(db, id, mayDelete)}`

/** Invites of a locked workspace, if it may be deleted. */
export const invitesOfAbandoned = (
  db: Tx,
  { id, limit, mayDelete = db`true` }: { id: string; limit: number; mayDelete?: Fragment },
) => db`
  select wi.ctid, wi.id, wi.expires_at
  from workspaces w
  cross join lateral (
    select own.ctid, own.id, own.expires_at
    from workspace_invites own
    where own.workspace_id = w.id
    order by own.id
    limit ${limit}
  ) wi
  where ${isAbandonedWorkspace(db, id, mayDelete)}`

const isAbandonedWorkspace = (db: Tx, id: string, mayDelete: Fragment) => db`(
  w.id = ${id}
  and ${mayDelete}
  and ${hasNoMembers(db)}
  and not exists (
    select
    from channels c
    where c.app_id = w.app_id
      and c.workspace_id = w.id
  )
)`

/** How many invites, or uses of them, a step deletes. */
const INVITES_AT_ONCE = 1_000

/** Deletes the invites of an abandoned workspace, in steps. */
const removeInvitesOf =
  (workspace: { appId: string; id: string }): FirstStep =>
  async ({ inTransaction }) => {
    for (let isMore = true; isMore; ) {
      await inTransaction(async ({ db }) => {
        await lockWorkspace(db, workspace)
        const limit = INVITES_AT_ONCE
        const invites = invitesOfAbandoned(db, { ...workspace, limit })
        isMore = (await removeInvites(db, invites, limit)).count > 0
      })
    }
  }

const afterOf = (cursor: string | undefined) =>
  cursor === undefined ? undefined : decodeIdCursor(cursor)

/** A page of the rows found in a slice. After the last of them the next slice begins. */
function pageOf<Row extends { id: string }>(found: Row[], limit: number, slice: IdSlice) {
  const { page, nextCursor } = toPage(found, limit, ({ id }) => encodeCursor(id, ''))
  const isEnd = nextCursor === null && slice.isLast
  return { page, nextCursor: isEnd ? null : (nextCursor ?? encodeCursor(slice.last, '')) }
}
