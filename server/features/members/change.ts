import type { Member, Role, UserSummary } from '@parley/contract'
import type { WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import type { LockedChannel } from '../../core/event-buffer.ts'
import { viewForNewcomer } from '../channels/view.ts'
import { lockUsersForShare } from '../users/view.ts'

type Changing = Pick<WriteContext, 'db' | 'emit' | 'emitToUser' | 'write'>
type Newcomer = { user: UserSummary; role: Role }
export type Addition = { members: Member[]; memberCount: number; rev: number }

/** The users with these ids, each once, who stay until the transaction ends; an unknown one refuses the call by name. */
export async function knownUsers(
  { db, caller: { appId, userId } }: Pick<WriteContext<'user'>, 'db' | 'caller'>,
  { ids, field }: { ids: string[]; field: string },
) {
  const wanted = [...new Set(ids)]
  const users = wanted.length === 0 ? [] : await lockUsersForShare(db, appId, wanted)
  const known = new Set(users.map(({ id }) => id))
  const unknown = wanted.filter((id) => !known.has(id))
  if (unknown.includes(userId)) return fail('INVALID_TOKEN', 'The token has been revoked')
  return unknown.length === 0
    ? users
    : fail(
        'VALIDATION_ERROR',
        `${field}: unknown users ${unknown.map((id) => JSON.stringify(id)).join(', ')}`,
      )
}

/** Makes users members of a locked channel: one event in the channel and one in the topic of each. Members stay as they are. */
export async function addMembers(
  ctx: Changing,
  channel: LockedChannel,
  newcomers: Newcomer[],
): Promise<Addition> {
  const { db } = ctx
  const joined = await db<{ userId: string; joinedAt: string }[]>`
    with joined as (
      insert into members (app_id, channel_id, user_id, role, unread_after_seq)
      select ${channel.appId}, ${channel.id}, n.user_id, n.role, ${channel.lastSeq}
      from unnest(${newcomers.map(({ user }) => user.id)}::text[], ${newcomers.map(({ role }) => role)}::text[]) as n (user_id, role)
      on conflict do nothing
      returning user_id, joined_at
    ), counted as (
      update channels set member_count = member_count + (select count(*) from joined) where id = ${channel.id}
    )
    select * from joined`
  const joinedAt = new Map(joined.map((row) => [row.userId, row.joinedAt]))
  let { memberCount, rev } = channel
  const members = newcomers.flatMap(({ user, role }): Member[] => {
    const at = joinedAt.get(user.id)
    if (at === undefined) return []
    memberCount += 1
    ctx.emit(channel, 'channel.member_joined', (next) => {
      rev = next
      return { channelId: channel.id, userId: user.id, user, role, memberCount }
    })
    return [{ userId: user.id, user, role, joinedAt: at }]
  })
  if (members.length > 0) await welcome(ctx, channel, { members, memberCount, rev })
  return { members, memberCount, rev }
}

/** Shows new members their channel, each as they see it. */
async function welcome(
  ctx: Changing,
  { appId, id, type, name }: LockedChannel,
  { members, memberCount, rev }: Addition,
) {
  const shown = await viewForNewcomer(ctx.db, { appId, id })
  if (!shown) return
  for (const { userId, role } of members) {
    const peer =
      type === 'messaging' ? members.find((member) => member.userId !== userId)?.user : undefined
    const face = peer ? { name: name ?? peer.name, image: shown.image ?? peer.image } : {}
    ctx.emitToUser(userId, 'channel.added', {
      channel: { ...shown, ...face, role, memberCount, rev },
    })
  }
}

/** Takes a member out of a locked channel. The last owner hands over to the oldest moderator, else to the oldest member. */
export async function removeMember(
  ctx: Changing,
  channel: LockedChannel,
  member: { user: UserSummary; role: Role },
) {
  const { db } = ctx
  const { id: userId } = member.user
  const memberCount = channel.memberCount - 1
  const [, [heir]] = await Promise.all([
    db`
      with dismissed as (delete from members where channel_id = ${channel.id} and user_id = ${userId} returning app_id, channel_id, user_id),
        former as (insert into former_members (app_id, channel_id, user_id) select app_id, channel_id, user_id from dismissed on conflict do nothing)
      update channels set member_count = member_count - 1 where id = ${channel.id} and exists (select from dismissed)`,
    member.role !== 'owner'
      ? []
      : db<{ user: UserSummary }[]>`
          update members f set role = 'owner' from users u
          where u.app_id = f.app_id and u.id = f.user_id and f.channel_id = ${channel.id} and f.user_id = (
            select user_id from members where channel_id = ${channel.id}
              and not exists (select from members where channel_id = ${channel.id} and role = 'owner')
            order by role = 'moderator' desc, joined_at, user_id limit 1
          )
          returning jsonb_build_object('id', u.id, 'name', u.display_name, 'image', u.image) as "user"`,
  ])
  ctx.emit(channel, 'channel.member_left', () => ({
    channelId: channel.id,
    userId,
    user: member.user,
    role: member.role,
    memberCount,
  }))
  if (heir)
    ctx.emit(channel, 'channel.member_updated', () => ({
      channelId: channel.id,
      userId: heir.user.id,
      user: heir.user,
      role: 'owner',
      memberCount,
    }))
  ctx.emitToUser(userId, 'channel.removed', { channelId: channel.id })
}
