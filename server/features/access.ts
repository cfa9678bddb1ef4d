import { type ChannelType, limits } from '@parley/contract'
import type { Context, UserCaller, WriteContext } from '../core/context.ts'
import { fail } from '../core/errors.ts'
import type { LockedChannel } from '../core/event-buffer.ts'
import type { Tx } from '../db/client.ts'
import type { ChannelRow, MemberRow } from '../db/rows.ts'
import { lockUsersForShare } from './users/view.ts'

/** The only ways for an operation to get hold of a channel: no right, no row. */

type Membership = Pick<MemberRow, 'role' | 'lastReadSeq' | 'unreadAfterSeq' | 'starred' | 'muted'>
type Standing = { [Key in keyof Membership]: Membership[Key] | null } & {
  workspaceRole: string | null
  cursorSeq: number | null
}

/** A channel that the caller may read; with the seq of a message of it, deleted or not, that the caller names. */
export const channelForReader = (ctx: Context<'user'>, channelId: string, cursor?: string) =>
  channelFor(ctx, { channelId, cursor, isAdmitted: mayRead })

/** A channel that the caller is a member of; with the seq of a message, likewise. */
export const channelForMember = (ctx: Context<'user'>, channelId: string, cursor?: string) =>
  channelFor(ctx, { channelId, cursor, isAdmitted: isMember })

async function channelFor(
  { db, caller }: Context<'user'>,
  {
    channelId,
    cursor,
    isAdmitted,
  }: { channelId: string; cursor: string | undefined; isAdmitted: Rule },
) {
  const [row] = await selectAccess(db, caller, { channelId, cursor })
  const access = admit(row, isAdmitted)
  if (cursor !== undefined && access.standing.cursorSeq === null)
    return fail('NOT_FOUND', 'Message not found')
  return access
}

/** The same, its row locked until the end of the transaction. */
export const lockedChannelForMember = (ctx: WriteContext<'user'>, channelId: string) =>
  lockedChannelFor(ctx, channelId, isMember)

/** A locked channel that the caller may read, member or not. */
export const lockedChannelForReader = (ctx: WriteContext<'user'>, channelId: string) =>
  lockedChannelFor(ctx, channelId, mayRead)

async function lockedChannelFor(
  { db, caller }: WriteContext<'user'>,
  channelId: string,
  isAdmitted: Rule,
) {
  // Rights are read by a statement after the lock: a statement sees the data as it was when it began to wait.
  const [, [row]] = await Promise.all([
    lockChannels(db, caller.appId, [channelId]),
    selectAccess(db, caller, { channelId }),
  ])
  const { channel, standing } = admit(row, isAdmitted)
  return { channel: asLocked(channel), standing }
}

/** A locked channel for the app's backend, which may act in all of them. */
export async function lockedChannelForApp(
  { db }: Pick<WriteContext, 'db'>,
  appId: string,
  channelId: string,
): Promise<LockedChannel> {
  const [, [channel]] = await Promise.all([
    lockChannels(db, appId, [channelId]),
    db<
      ChannelRow[]
    >`select * from channels where app_id = ${appId} and id = ${channelId} and deleted_at is null`,
  ])
  return channel ? asLocked(channel) : fail('NOT_FOUND', 'Channel not found')
}

/** Keeps the caller from being deleted before this transaction ends, for those who make something his; after the lock of a channel. */
export async function lockCallerForShare({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [user] = await lockUsersForShare(db, appId, [userId])
  return user ?? fail('INVALID_TOKEN', 'The token has been revoked')
}

/** To be said only of a row that this transaction has locked or inserted. */
export const asLocked = (channel: ChannelRow): LockedChannel => ({ ...channel, isLocked: true })

/** Locks channels in the order of their ids, so that two transactions never wait for each other. Rows of members stay writable. */
export const lockChannels = (db: Tx, appId: string, ids: string[]) => db`
  select id from channels where app_id = ${appId} and id = any(${ids}::uuid[]) and deleted_at is null order by id for no key update`

const selectAccess = (
  db: Tx,
  { appId, userId }: UserCaller,
  { channelId, cursor = null }: { channelId: string; cursor?: string | null | undefined },
) => db<(ChannelRow & Standing)[]>`
  select c.*, m.role, m.last_read_seq, m.unread_after_seq, m.starred, m.muted, w.role as workspace_role, cursor.seq as cursor_seq
  from channels c
  left join members m on m.channel_id = c.id and m.user_id = ${userId}
  left join workspace_members w on w.workspace_id = c.workspace_id and w.user_id = ${userId}
  left join messages cursor on cursor.id = ${cursor} and cursor.channel_id = c.id
  where c.app_id = ${appId} and c.id = ${channelId} and c.deleted_at is null`

function admit(row: (ChannelRow & Standing) | undefined, isAdmitted: Rule) {
  if (!row) return fail('NOT_FOUND', 'Channel not found')
  if (!isAdmitted(row))
    return fail(
      'FORBIDDEN',
      row.role === null ? 'You are not a member of this channel' : 'You may not do this',
    )
  const {
    role,
    lastReadSeq,
    unreadAfterSeq,
    starred,
    muted,
    workspaceRole,
    cursorSeq,
    ...channel
  } = row
  return {
    channel,
    standing: { role, lastReadSeq, unreadAfterSeq, starred, muted, workspaceRole, cursorSeq },
  }
}

/** What decides on rights: the type of the channel, and the caller's roles in it and in its workspace. */
type Place = { type: ChannelType; role: MemberRow['role'] | null; workspaceRole: string | null }
type Rule = (place: Place) => boolean

export const isMember: Rule = ({ role }) => role !== null
export const mayJoin: Rule = ({ type, workspaceRole }) =>
  isOpen(type) || (type === 'team' && workspaceRole !== null)
export const mayRead: Rule = (place) => isMember(place) || mayJoin(place)
/** Everyone in the app reads it, and the first message makes its author a member. */
export const isOpen = (type: ChannelType) => type === 'public' || type === 'livestream'
/** A livestream of many: what its members type and read is told to nobody else. */
export const isLargeLivestream = ({
  type,
  memberCount,
}: Pick<ChannelRow, 'type' | 'memberCount'>) =>
  type === 'livestream' && memberCount > limits.largeLivestreamMembers
