import { type ChannelType, limits } from '@parley/contract'
import type { Caller, Context, WriteContext } from '../../core/context.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { channelNotFound, messageNotFound, notMember, tokenRevoked } from '../../core/refusals.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { ChannelRow, MemberRow } from '../../db/rows.ts'
import { isOpenType } from '../../db/sql.ts'
import { lockUsersForShare } from '../users/view.ts'

// The only ways for an operation to get a channel: no right, no row.

type OwnColumn = 'role' | 'lastReadSeq' | 'unreadAfterSeq' | 'starred' | 'muted'
/** The caller's row in the channel and role in its workspace; null where they are no member. */
type Membership = { [Key in OwnColumn]: MemberRow[Key] | null } & { workspaceRole: string | null }

/** The context of a user, or of the app's backend, which has an owner's rights in every channel. */
export type ReaderContext = Pick<Context<'userOrKey'>, 'db' | 'caller'>

/**
 * A channel that the caller may read. `cursor` names a message of it, deleted or not; an unknown
 * one is NOT_FOUND.
 */
export const channelForReader = (ctx: ReaderContext, channelId: string, cursor?: string) =>
  channelFor(ctx, { channelId, cursor, isAllowed: mayRead })

/** A channel that the caller is a member of. `cursor` as in channelForReader. */
export const channelForMember = (ctx: Context<'user'>, channelId: string, cursor?: string) =>
  channelFor(ctx, { channelId, cursor, isAllowed: isMember })

type ChannelRequest = { channelId: string; cursor: string | undefined; isAllowed: AccessRule }

async function channelFor(
  { db, caller }: ReaderContext,
  { channelId, cursor, isAllowed }: ChannelRequest,
): Promise<ReadableChannel> {
  const [row] = await selectReadable(db, caller, { channelId, cursor })
  const channel = requireAllowed(row, isAllowed)
  if (cursor !== undefined && channel.cursorSeq === null) {
    throw messageNotFound()
  }
  return channel
}

/** A channel that the caller is a member of, locked until the end of the transaction. */
export const lockedChannelForMember = (ctx: WriteContext<'userOrKey'>, channelId: string) =>
  lockedChannelFor(ctx, channelId, isMember)

/** A locked channel that the caller may read: they are a member, or may join it. */
export const lockedChannelForReader = (ctx: WriteContext<'user'>, channelId: string) =>
  lockedChannelFor(ctx, channelId, mayRead)

async function lockedChannelFor(
  { db, caller }: WriteContext<'userOrKey'>,
  channelId: string,
  isAllowed: AccessRule,
) {
  // Rights are read by a statement after the lock: the locking one still sees the data from before
  // its wait.
  const [, [row]] = await pipelined([
    lockChannels(db, caller.appId, [channelId]),
    selectAccess(db, caller, channelId),
  ])
  const { channel, membership } = requireAccess(row, isAllowed)
  return { channel: asLocked(channel), membership }
}

/** A locked channel for the app's backend, which may act in all of them. */
export async function lockedChannelForApp(
  { db }: Pick<WriteContext, 'db'>,
  appId: string,
  channelId: string,
): Promise<LockedChannel> {
  const [, [channel]] = await pipelined([
    lockChannels(db, appId, [channelId]),
    selectChannel(db, appId, channelId),
  ])
  if (!channel) throw channelNotFound()
  return asLocked(channel)
}

/**
 * Prevents the deletion of the caller until this transaction ends. Every operation that makes
 * something theirs calls it, after it has locked the channel.
 */
export async function lockCallerForShare({ db, caller: { appId, userId } }: WriteContext<'user'>) {
  const [user] = await lockUsersForShare(db, appId, [userId])
  if (!user) throw tokenRevoked()
  return user
}

/** Only for a row that this transaction has locked or inserted. */
export const asLocked = (channel: ChannelRow): LockedChannel => ({ ...channel, isLocked: true })

/**
 * Locks channels in the order of their ids, so that two transactions never wait for each other.
 * Rows of members stay writable. Unless it `waitsForLocks`, channels that others have locked are
 * left out. The other conditions are in a form that no index has, so that channels are found by id.
 */
export const lockChannels = (
  db: Tx,
  appId: string,
  ids: string[],
  { waitsForLocks }: { waitsForLocks: boolean } = { waitsForLocks: true },
) => db<{ id: string }[]>`
  select id
  from channels
  where id = any(${ids}::uuid[])
    and app_id is not distinct from ${appId}
    and num_nulls(deleted_at) = 1
  order by id
  for no key update ${waitsForLocks ? db`` : db`skip locked`}`

/** A channel without a check of rights: for the backend and the erasure of users, once locked. */
export const selectChannel = (db: Tx, appId: string, channelId: string, isWanted = db`true`) =>
  db<ChannelRow[]>`
    select *
    from channels
    where id = ${channelId}
      and app_id is not distinct from ${appId}
      and deleted_at is null
      and ${isWanted}`

type ReadableChannel = { lastSeq: number; memberCount: number; frozen: boolean | null }
type AccessQuery = { channelId: string; cursor: string | undefined }

/** Reads only what the right to read needs: a channel's data may be long. */
const selectReadable = (
  db: Tx,
  caller: Caller<'userOrKey'>,
  { channelId, cursor }: AccessQuery,
) => {
  const cursorSeq =
    cursor === undefined ? db`null::int` : seqOf(db, { channelId, messageId: cursor })
  return db<(ReadableChannel & AccessFacts & { cursorSeq: number | null })[]>`
    select
      c.type, c.last_seq, c.member_count, c.frozen,
      ${roles(db, caller)},
      ${cursorSeq} as cursor_seq
    from channels c
    ${withRoles(db, caller)}
    ${isChannel(db, caller, channelId)}`
}

/**
 * Whether the caller may read a channel, as a condition of the statement that travels with
 * `channelForReader`. PostgreSQL looks at it first, and reads nothing else if it does not hold.
 */
export const isReadable = ({ db, caller }: ReaderContext, channelId: string) => db`(
  select ${caller.userId === null ? db`true` : mayReadRow(db)}
  from channels c
  ${withRoles(db, caller)}
  ${isChannel(db, caller, channelId)}
)`

type AccessRow = ChannelRow & Membership

const selectAccess = (db: Tx, caller: Caller<'userOrKey'>, channelId: string) => db<AccessRow[]>`
  select
    c.*,
    ${roles(db, caller)},
    m.last_read_seq, m.unread_after_seq, m.starred, m.muted
  from channels c
  ${withRoles(db, caller)}
  ${isChannel(db, caller, channelId)}`

/** The app's backend has the rights of an owner, everywhere. */
const roles = (db: Tx, { userId }: Caller<'userOrKey'>) => db`
  ${userId === null ? db`'owner'` : db`m.role`} as role,
  wm.role as workspace_role`

const withRoles = (db: Tx, { userId }: Caller<'userOrKey'>) => db`
  left join members m on m.channel_id = c.id and m.user_id = ${userId}
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = ${userId}`

/**
 * Written so that the channel is found by its id: no index has the other conditions in this form.
 */
const isChannel = (db: Tx, { appId }: Caller<'userOrKey'>, channelId: string) => db`
  where c.id = ${channelId}
    and c.app_id is not distinct from ${appId}
    and num_nulls(c.deleted_at) = 1`

/** The seq of a message of this channel, deleted or not; null if it has no such message. */
export const seqOf = (
  db: Tx,
  { channelId, messageId }: { channelId: string; messageId: string },
) => db`(
  select msg.seq
  from messages msg
  where msg.id = ${messageId}
    and msg.channel_id is not distinct from ${channelId}
)`

function requireAllowed<Row extends AccessFacts>(row: Row | undefined, isAllowed: AccessRule): Row {
  if (!row) throw channelNotFound()
  if (!isAllowed(row)) throw notMember()
  return row
}

function requireAccess(row: AccessRow | undefined, isAllowed: AccessRule) {
  const { role, lastReadSeq, unreadAfterSeq, starred, muted, workspaceRole, ...channel } =
    requireAllowed(row, isAllowed)
  const membership = { role, lastReadSeq, unreadAfterSeq, starred, muted, workspaceRole }
  return { channel, membership }
}

/**
 * The facts that rights depend on: the type of the channel, and the roles in it and in its
 * workspace.
 */
type AccessFacts = {
  type: ChannelType
  role: MemberRow['role'] | null
  workspaceRole: string | null
}
type AccessRule = (facts: AccessFacts) => boolean

const isMember: AccessRule = ({ role }) => role !== null
const mayJoin: AccessRule = ({ type, workspaceRole }) =>
  isOpen(type) || (type === 'team' && workspaceRole !== null)
export const mayRead: AccessRule = (facts) => isMember(facts) || mayJoin(facts)
/** The same rule in SQL, for channel row `c` and the rows `m` and `wm` of a user. */
export const mayReadRow = (db: Tx) => db`(
  m.user_id is not null
  or ${isOpenType(db, db`c.type`)}
  or (c.type = 'team' and wm.user_id is not null)
)`
/** Whether a user whose member row is `m` may read `c`: their workspaces are looked up for each. */
export const isReadableBy = (db: Tx, userId: string) => db`(
  select ${mayReadRow(db)}
  from (values (0)) one
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = ${userId}
)`
/**
 * Everyone in the app reads it, and the first message makes its author a member. The same rule as
 * `isOpenType` in SQL.
 */
export const isOpen = (type: ChannelType) => type === 'public' || type === 'livestream'

/** In a channel this large, what members type and read goes to no other member. */
export const isLargeChannel = ({ memberCount }: Pick<ChannelRow, 'memberCount'>) =>
  memberCount > limits.largeChannelMembers
/** `isLargeChannel` in SQL, for channel row `c`. */
export const isLargeChannelRow = (db: Tx) => db`(c.member_count > ${limits.largeChannelMembers})`
