import { type ChannelType, contract, type Member, type Role } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import {
  channelForReader,
  lockCallerForShare,
  lockedChannelForMember,
  lockedChannelForReader,
  mayJoin,
} from '../access.ts'
import { addMembers, knownUsers, removeMember } from './change.ts'
import { selectMembers } from './view.ts'

const list = implementWithoutTransaction(
  contract.members.list,
  async (ctx, { channelId, limit, offset }) => {
    await channelForReader(ctx, channelId)
    const page = ctx.db`f.channel_id = ${channelId} order by f.joined_at, f.user_id limit ${limit} offset ${offset}`
    return { members: await selectMembers(ctx.db, page) }
  },
)

const add = implement(contract.members.add, async (ctx, { channelId, userIds, role }) => {
  const { channel, standing } = await lockedChannelForMember(ctx, channelId)
  refuseDirect(channel.type)
  if (!mayAdd(channel.type, standing.role))
    return fail('FORBIDDEN', 'Only owners and moderators add members here')
  if (role !== 'member' && standing.role !== 'owner')
    return fail('FORBIDDEN', 'Only an owner gives roles')
  const users = await knownUsers(ctx, { ids: userIds, field: 'userIds' })
  const { members: invited, memberCount } = await addMembers(
    ctx,
    channel,
    users.map((user) => ({ user, role })),
  )
  if (invited.length > 0)
    ctx.enqueue('push-invite', {
      channelId,
      invitedBy: ctx.caller.userId,
      userIds: invited.map(({ userId }) => userId),
    })
  return {
    members: await selectMembersById(
      ctx.db,
      channelId,
      users.map(({ id }) => id),
    ),
    memberCount,
  }
})

const update = implement(contract.members.update, async (ctx, { channelId, userId, role }) => {
  const { channel, member } = await lockedMember(
    ctx,
    { channelId, userId },
    (own) => own === 'owner',
  )
  if (member.role === role) return member
  if (userId === ctx.caller.userId && !(await hasOtherOwner(ctx.db, channelId, userId)))
    return fail('FORBIDDEN', 'The last owner can not step down')
  ctx.write(
    ctx.db`update members set role = ${role} where channel_id = ${channelId} and user_id = ${userId}`,
  )
  ctx.emit(channel, 'channel.member_updated', () => ({
    channelId,
    userId,
    user: member.user,
    role,
    memberCount: channel.memberCount,
  }))
  return { ...member, role }
})

const remove = implement(contract.members.remove, async (ctx, ref) => {
  const isSelf = ref.userId === ctx.caller.userId
  const { channel, member } = await lockedMember(
    ctx,
    ref,
    (own, theirs) => isSelf || mayRemove(own, theirs),
  )
  await removeMember(ctx, channel, member)
  return { success: true }
})

const leave = implement(contract.members.leave, async (ctx, { channelId }) => {
  const { channel, member } = await lockedMember(
    ctx,
    { channelId, userId: ctx.caller.userId },
    () => true,
  )
  await removeMember(ctx, channel, member)
  return { success: true }
})

const join = implement(contract.members.join, (ctx, ref) => joinOpenChannel(ctx, ref))

export const members = { list, add, update, remove, join, leave } satisfies Implements<'members'>

/** Makes the caller a member of a channel that is open to him. */
export async function joinOpenChannel(
  ctx: WriteContext<'user'>,
  { channelId }: { channelId: string },
): Promise<Member> {
  const { channel, standing } = await lockedChannelForReader(ctx, channelId)
  const { userId } = ctx.caller
  if (standing.role === null) {
    if (!mayJoin({ ...standing, type: channel.type }))
      return fail('FORBIDDEN', 'This channel is by invitation only')
    await addMembers(ctx, channel, [{ user: await lockCallerForShare(ctx), role: 'member' }])
  }
  const [member] = await selectMembersById(ctx.db, channelId, [userId])
  return member ?? fail('FORBIDDEN', 'You are not a member of this channel')
}

/** A member of a locked channel of which the caller is one too, if their roles allow it. Never of a direct message. */
async function lockedMember(
  ctx: WriteContext<'user'>,
  { channelId, userId }: { channelId: string; userId: string },
  isAllowed: (own: Role | null, theirs: Role) => boolean,
) {
  const [{ channel, standing }, [member]] = await Promise.all([
    lockedChannelForMember(ctx, channelId),
    selectMembersById(ctx.db, channelId, [userId]),
  ])
  refuseDirect(channel.type)
  if (!member) return fail('NOT_FOUND', 'Member not found')
  return isAllowed(standing.role, member.role)
    ? { channel, member }
    : fail('FORBIDDEN', 'Your role does not allow this')
}

const selectMembersById = (db: Tx, channelId: string, userIds: string[]) =>
  selectMembers(db, db`f.channel_id = ${channelId} and f.user_id = any(${userIds})`)

async function hasOtherOwner(db: Tx, channelId: string, userId: string) {
  const [other] =
    await db`select from members where channel_id = ${channelId} and role = 'owner' and user_id <> ${userId} limit 1`
  return other !== undefined
}

const refuseDirect = (type: ChannelType) =>
  type === 'messaging' && fail('FORBIDDEN', 'The members of a direct message do not change')

export const mayAdd = (type: ChannelType, role: Role | null) =>
  type === 'group' || type === 'public' || isStaff(role)
export const mayRemove = (own: Role | null, theirs: Role) =>
  own === 'owner' || (own === 'moderator' && theirs === 'member')
export const isStaff = (role: Role | null) => role === 'owner' || role === 'moderator'
