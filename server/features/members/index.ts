import { isDeepStrictEqual } from 'node:util'
import { type ChannelType, contract, type Member, type Role } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import type { WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import {
  type Implements,
  implement,
  implementWithoutTransaction,
  RequiresFirstError,
} from '../../core/operation.ts'
import { memberNotFound, notMember } from '../../core/refusals.ts'
import type { MemberRef } from '../../core/user-ref.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { jsonOf } from '../../db/sql.ts'
import {
  channelForReader,
  isReadable,
  lockCallerForShare,
  lockedChannelForMember,
  lockedChannelForReader,
} from '../channels/access.ts'
import { joinedAfter, memberCursor, toFittingPage } from '../cursors.ts'
import { mergeCustom } from '../custom.ts'
import { addMembers, lockKnownUsers, removeMember } from './change.ts'
import { removeMarks, selectManyMarks } from './read-marks.ts'
import { selectMemberPage, selectMembers } from './view.ts'

const list = implementWithoutTransaction(
  contract.members.list,
  async (ctx, { channelId, limit, offset, cursor }) => {
    // Computed first: it may throw, and nothing would wait for queries that had begun before.
    const isAfter = joinedAfter(ctx.db, cursor)
    const [, rows] = await pipelined([
      channelForReader(ctx, channelId),
      selectMemberPage(
        ctx.db,
        ctx.db`
          m.channel_id = ${channelId}
          and ${isAfter}
          and ${isReadable(ctx, channelId)}
          order by m.joined_at, m.user_id
          limit ${limit + 1}
          offset ${offset}`,
      ),
    ])
    const { page, nextCursor } = toFittingPage(rows, limit, memberCursor)
    return { members: page.map(({ joinedMicros: _, ...member }) => member), nextCursor }
  },
)

const add = implement(contract.members.add, async (ctx, { channelId, userIds, role, ...given }) => {
  const { channel, membership } = await lockedChannelForMember(ctx, channelId)
  requireNotDirect(channel.type)
  if (!mayAdd(channel.type, membership.role)) {
    throw new ApiError('FORBIDDEN', 'Only owners and moderators can add members to this channel')
  }
  if (role !== 'member' && membership.role !== 'owner') {
    throw new ApiError('FORBIDDEN', 'Only owners can give roles')
  }
  const users = await lockKnownUsers(ctx, { ids: userIds, field: 'userIds' })
  const custom = mergeCustom(null, given.custom)
  const newMembers = users.map((user) => ({ user, role, custom }))
  const { members: added, memberCount } = await addMembers(ctx, channel, newMembers)
  const invitedBy = ctx.caller.userId
  const addedIds = added.map(({ userId }) => userId)
  if (added.length > 0 && invitedBy !== null)
    ctx.enqueue('push-invite', { channelId, invitedBy, userIds: addedIds })
  if (added.length > 0)
    noteAct(ctx, { operation: 'members.add', target: { channelId, userIds: addedIds, role } })
  const ids = users.map(({ id }) => id)
  const members = await selectMembersById(ctx.db, channelId, ids)
  return { members, memberCount }
})

const update = implement(
  contract.members.update,
  async (ctx, { channelId, userId, ...changes }) => {
    const isSelf = userId === ctx.caller.userId
    const isAllowed: MemberRule = (own) => own === 'owner' || (isSelf && changes.role === undefined)
    const { channel, member } = await lockedMember(ctx, { channelId, userId }, isAllowed)
    if (changes.role !== undefined) requireNotDirect(channel.type)
    const { role = member.role } = changes
    const custom = mergeCustom(member.custom, changes.custom) ?? {}
    if (role === member.role && isDeepStrictEqual(custom, member.custom)) return member
    const stepsDown = isSelf && member.role === 'owner' && role !== 'owner'
    if (stepsDown && !(await hasOtherOwner(ctx.db, channelId, userId))) {
      throw new ApiError('FORBIDDEN', 'The last owner cannot step down; make another member owner')
    }
    ctx.queueWrite(ctx.db`
      update members
      set role = ${role}, custom = ${jsonOf(ctx.db, custom)}
      where channel_id = ${channelId}
        and user_id = ${userId}`)
    if (role !== member.role)
      noteAct(ctx, { operation: 'members.update', target: { channelId, userId, role } })
    const { memberCount } = channel
    const { user } = member
    ctx.emit(channel, 'channel.member_updated', () => ({
      channelId,
      userId,
      user,
      role,
      memberCount,
      custom,
    }))
    return { ...member, role, custom }
  },
)

const remove = implement(contract.members.remove, async (ctx, ref) => {
  const isSelf = ref.userId === ctx.caller.userId
  const { channel, member } = await lockedLeaver(
    ctx,
    ref,
    (own, theirs) => isSelf || mayRemove(own, theirs),
  )
  await removeMember(ctx, channel, member)
  if (!isSelf) noteAct(ctx, { operation: 'members.remove', target: ref })
  return { success: true }
})

const leave = implement(contract.members.leave, async (ctx, { channelId }) => {
  const ref = { channelId, userId: ctx.caller.userId }
  const { channel, member } = await lockedLeaver(ctx, ref, () => true)
  await removeMember(ctx, channel, member)
  return { success: true }
})

const join = implement(contract.members.join, (ctx, ref) => joinOpenChannel(ctx, ref))

export const members = { list, add, update, remove, join, leave } satisfies Implements<'members'>

/** Makes the caller a member of a channel that is open to them. */
export async function joinOpenChannel(
  ctx: WriteContext<'user'>,
  { channelId }: { channelId: string },
): Promise<Member> {
  const { channel, membership } = await lockedChannelForReader(ctx, channelId)
  if (membership.role === null) {
    const user = await lockCallerForShare(ctx)
    await addMembers(ctx, channel, [{ user, role: 'member' }])
  }
  const [member] = await selectMembersById(ctx.db, channelId, [ctx.caller.userId])
  if (!member) throw notMember()
  return member
}

type MemberRule = (own: Role | null, theirs: Role) => boolean

/** A member of a locked channel, if the roles of both allow it. */
async function lockedMember(
  ctx: WriteContext<'userOrKey'>,
  { channelId, userId }: MemberRef,
  isAllowed: MemberRule,
) {
  const [{ channel, membership }, [member]] = await pipelined([
    lockedChannelForMember(ctx, channelId),
    selectMembersById(ctx.db, channelId, [userId]),
  ])
  if (!member) throw memberNotFound()
  if (!isAllowed(membership.role, member.role)) {
    throw new ApiError('FORBIDDEN', 'Your role in this channel does not allow this')
  }
  return { channel, member }
}

/** A member of a locked channel, like `lockedMember`, who is about to leave it. */
async function lockedLeaver(ctx: WriteContext<'userOrKey'>, ref: MemberRef, isAllowed: MemberRule) {
  const [locked, [manyMarks]] = await pipelined([
    lockedMember(ctx, ref, isAllowed),
    selectManyMarks(ctx.db, ref),
  ])
  requireNotDirect(locked.channel.type)
  if (manyMarks) throw new RequiresFirstError(removeMarks(ref))
  return locked
}

const selectMembersById = (db: Tx, channelId: string, userIds: string[]) =>
  selectMembers(db, db`m.channel_id = ${channelId} and m.user_id = any(${userIds})`)

async function hasOtherOwner(db: Tx, channelId: string, userId: string) {
  const [other] = await db`
    select
    from members
    where channel_id = ${channelId}
      and role = 'owner'
      and user_id <> ${userId}
    limit 1`
  return other !== undefined
}

function requireNotDirect(type: ChannelType) {
  if (type === 'messaging') {
    throw new ApiError('FORBIDDEN', 'The members of a direct message cannot be changed')
  }
}

const mayAdd = (type: ChannelType, role: Role | null) =>
  type === 'group' || type === 'public' || isStaff(role)
const mayRemove: MemberRule = (own, theirs) =>
  own === 'owner' || (own === 'moderator' && theirs === 'member')
export const isStaff = (role: Role | null) => role === 'owner' || role === 'moderator'
