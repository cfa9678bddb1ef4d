import { grouped, limits, type Member, type Role, type UserSummary } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { tokenRevoked } from '../../core/refusals.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { atRev, viewForNewMember } from '../channels/view.ts'
import { lockUsersForShare, userSummary } from '../users/view.ts'

type MemberContext = Pick<WriteContext, 'db' | 'emit' | 'emitToUser' | 'queueWrite'>
export type NewMember = {
  user: UserSummary
  role: Role
  custom?: Record<string, unknown> | null
}
type Addition = { members: Member[]; memberCount: number; rev: number }

/**
 * The users with these ids, each once, who cannot be deleted before the transaction ends. The error
 * for unknown ones names them and the `field` of the input; without a field it is NOT_FOUND.
 */
export async function lockKnownUsers(
  { db, caller: { appId, userId } }: Pick<WriteContext<'userOrKey'>, 'db' | 'caller'>,
  { ids, field }: { ids: string[]; field: string | undefined },
) {
  const wanted = [...new Set(ids)]
  const users = wanted.length === 0 ? [] : await lockUsersForShare(db, appId, wanted)
  const known = new Set(users.map(({ id }) => id))
  const unknown = wanted.filter((id) => !known.has(id))
  if (userId !== null && unknown.includes(userId)) throw tokenRevoked()
  if (unknown.length > 0) {
    const names = unknown.map((id) => JSON.stringify(id)).join(', ')
    if (field === undefined) throw new ApiError('NOT_FOUND', `User not found: ${names}`)
    throw new ApiError('VALIDATION_ERROR', `${field}: unknown users ${names}`)
  }
  return users
}

/**
 * Makes users members of a locked channel: one event in the channel and one in the topic of each.
 * Nothing changes for those who are members already.
 */
export async function addMembers(
  ctx: MemberContext,
  channel: LockedChannel,
  newMembers: NewMember[],
): Promise<Addition> {
  const joined = await insertMembers(ctx.db, channel, newMembers)
  const joinedAtById = new Map(joined.map(({ userId, joinedAt }) => [userId, joinedAt]))
  let { memberCount, rev } = channel
  const members: Member[] = []
  for (const { user, role, ...given } of newMembers) {
    const custom = given.custom ?? {}
    const userId = user.id
    const joinedAt = joinedAtById.get(userId)
    if (joinedAt === undefined) continue
    memberCount += 1
    ctx.emit(channel, 'channel.member_joined', (next) => {
      rev = next
      return { channelId: channel.id, userId, user, role, memberCount, custom }
    })
    members.push({ userId, user, role, custom, joinedAt })
  }
  const addition = { members, memberCount, rev }
  if (members.length > 0) await notifyAdded(ctx, channel, addition)
  return addition
}

function insertMembers(db: Tx, channel: LockedChannel, newMembers: NewMember[]) {
  const userIds = newMembers.map(({ user }) => user.id)
  const roles = newMembers.map(({ role }) => role)
  const customs = newMembers.map(({ custom }) => (custom ? JSON.stringify(custom) : null))
  return db<{ userId: string; joinedAt: string }[]>`
    with joined as (
      insert into members (app_id, channel_id, user_id, role, unread_after_seq, custom)
      select
        ${channel.appId}, ${channel.id}, given.user_id, given.role, ${channel.lastSeq},
        given.custom::jsonb
      from unnest(${userIds}::text[], ${roles}::text[], ${customs}::text[])
        as given (user_id, role, custom)
      on conflict do nothing
      returning user_id, joined_at
    ),
    counted as (
      update channels
      set member_count = member_count + (select count(*) from joined)
      where id = ${channel.id}
    )
    select *
    from joined`
}

/**
 * Sends each new member the channel as that member sees it. Each event has the whole channel, so
 * there may be fewer new members at once if the channel is large.
 */
async function notifyAdded(
  ctx: MemberContext,
  { appId, id, type, name }: LockedChannel,
  { members, memberCount, rev }: Addition,
) {
  const channel = await viewForNewMember(ctx.db, { appId, id })
  if (!channel) return
  requireSpace(channel, members)
  for (const { userId, role } of members) {
    const others = type === 'messaging' ? members.filter((other) => other.userId !== userId) : []
    const peer = others[0]?.user
    const profile = peer ? { name: name ?? peer.name, image: channel.image ?? peer.image } : {}
    ctx.emitToUser(userId, 'channel.added', {
      channel: { ...atRev(channel, rev), ...profile, role, memberCount },
    })
  }
}

/**
 * Checked before the events are written as JSON: together they may be many times the largest
 * answer.
 */
function requireSpace(channel: object, members: Member[]) {
  const bytesEach = byteSize(channel) + byteSize(members) / members.length
  const most = Math.floor(limits.newMembersBytes / bytesEach)
  if (members.length > most)
    throw new ApiError(
      'VALIDATION_ERROR',
      `A channel of this size can have at most ${grouped(most)} new members at once`,
    )
}

const byteSize = (value: object) => Buffer.byteLength(JSON.stringify(value))

/**
 * Removes a member from a locked channel. A last owner is followed by the oldest moderator, else
 * the oldest member.
 */
export async function removeMember(
  ctx: MemberContext,
  channel: LockedChannel,
  { user, role }: NewMember,
) {
  const { db } = ctx
  const channelId = channel.id
  const memberCount = channel.memberCount - 1
  const [, [newOwner]] = await pipelined([
    deleteMember(db, channelId, user.id),
    role === 'owner' ? appointOwner(db, channelId) : [],
  ])
  ctx.emit(channel, 'channel.member_left', () => ({
    channelId,
    userId: user.id,
    user,
    role,
    memberCount,
  }))
  if (newOwner) {
    ctx.emit(channel, 'channel.member_updated', () => ({
      channelId,
      userId: newOwner.user.id,
      user: newOwner.user,
      role: 'owner',
      memberCount,
      custom: newOwner.custom,
    }))
  }
  ctx.emitToUser(user.id, 'channel.removed', { channelId })
}

/**
 * The leaving of the last member is an activity: the time until an abandoned channel is purged
 * starts then.
 */
const deleteMember = (db: Tx, channelId: string, userId: string) => db`
  with removed as (
    delete from members
    where channel_id = ${channelId}
      and user_id = ${userId}
    returning app_id, channel_id, user_id
  ),
  former as (
    insert into former_members (app_id, channel_id, user_id)
    select app_id, channel_id, user_id
    from removed
    on conflict do nothing
  )
  update channels
  set
    member_count = member_count - 1,
    last_activity_at = case
      when member_count = 1 then greatest(clock_timestamp(), last_activity_at)
      else last_activity_at
    end
  where id = ${channelId}
    and exists (select from removed)`

type NewOwner = Pick<Member, 'user' | 'custom'>

/** Makes the next member an owner, if no owner is left. */
const appointOwner = (db: Tx, channelId: string) => db<NewOwner[]>`
  update members m
  set role = 'owner'
  from users u
  where u.app_id = m.app_id
    and u.id = m.user_id
    and m.channel_id = ${channelId}
    and m.user_id = (${nextOwner(db, db`${channelId}::uuid`)})
  returning ${userSummary(db)} as "user", coalesce(m.custom, '{}') as custom`

/** The next owner of a channel; none while it has one. Each part is the first row of an index. */
export const nextOwner = (db: Tx, channelId: Fragment) => db`
  select coalesce(
    (
      select next.user_id
      from members next
      where next.channel_id = ${channelId}
        and next.role = 'moderator'
      order by next.joined_at, next.user_id
      limit 1
    ),
    (
      select next.user_id
      from members next
      where next.channel_id = ${channelId}
      order by next.joined_at, next.user_id
      limit 1
    )
  )
  where not exists (
    select
    from members owning
    where owning.channel_id = ${channelId}
      and owning.role = 'owner'
  )`
