import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

/** What a member may do: owners everything, moderators edit the channel and remove members. */
export const Role = z
  .enum(['owner', 'moderator', 'member'])
  .meta({ description: 'Role in the channel.', examples: ['member'] })
export type Role = z.infer<typeof Role>

/** A user in a channel (DESIGN §4 members). */
export const Member = z
  .object({
    userId: field.userId(),
    user: UserSummary,
    role: Role,
    joinedAt: field
      .timestamp()
      .meta({ description: 'When the user joined.', examples: ['2026-11-21T09:30:00.000Z'] }),
  })
  .meta({ id: 'Member', description: 'A user in a channel.' })
export type Member = z.infer<typeof Member>

const Ref = z.object({ channelId: field.channelId() })
const MemberRef = Ref.extend({ userId: field.userId() })

/** Who is in a channel (DESIGN §4 members, rights by type). */
export const members = {
  /** The members of a channel, in the order they joined. */
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/members',
    auth: 'user',
    summary: 'List members',
    description: 'The members of a channel, in the order they joined.',
    input: Ref.extend({
      limit: field.pageSize({ default: limits.membersShown, max: limits.membersPerCall }),
      offset: field.offset(),
    }),
    output: z.object({
      members: z.array(Member).meta({ description: 'In the order they joined.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Adds users; those who are members already stay as they are. */
  add: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/members',
    auth: 'user',
    summary: 'Add members',
    description:
      'Adds users; members stay as they are. In group and public channels any member may add, elsewhere owners and moderators; only an owner gives a role other than `member`. Not in direct messages.',
    input: Ref.extend({
      userIds: z
        .array(field.userId())
        .min(1)
        .max(limits.membersPerCall)
        .meta({ description: 'Whom to add.', examples: [['ben']] }),
      role: Role.default('member').meta({ description: 'The role they get.' }),
    }),
    output: z.object({
      members: z.array(Member).meta({ description: 'The users asked for, as members.' }),
      memberCount: z
        .int()
        .meta({ description: 'How many members the channel has now.', examples: [3] }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Gives a member another role. Owner only. */
  update: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/members/{userId}',
    auth: 'user',
    summary: "Change a member's role",
    description: 'Gives a member another role. For owners; the last owner can not step down.',
    input: MemberRef.extend({ role: Role }),
    output: Member,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Removes a member: an owner anyone, a moderator plain members, everybody oneself. */
  remove: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/members/{userId}',
    auth: 'user',
    summary: 'Remove a member',
    description:
      'An owner removes anyone, a moderator plain members, and everybody oneself. Not in direct messages.',
    input: MemberRef,
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Joins a channel that is open to the caller; joining twice is the same as once. */
  join: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/join',
    auth: 'user',
    summary: 'Join a channel',
    description:
      'Joins a public or livestream channel, or a team channel of your workspace. Joining again changes nothing.',
    input: Ref,
    output: Member,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Leaves a channel. The last owner hands over to the oldest moderator, else member. */
  leave: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/leave',
    auth: 'user',
    summary: 'Leave a channel',
    description:
      'Leaves the channel. The last owner hands over to the oldest moderator, else the oldest member. Not in direct messages.',
    input: Ref,
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
