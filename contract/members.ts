import { z } from 'zod'
import { customAnswer, customChange, customData } from './custom.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

/**
 * A member's rights: owners delete the channel, give roles and remove anyone; moderators edit the
 * channel and remove plain members. Nobody edits or deletes the messages of others.
 */
export const Role = z
  .enum(['owner', 'moderator', 'member'])
  .meta({ id: 'Role', description: 'Role in the channel.', examples: ['member'] })
export type Role = z.infer<typeof Role>

/** A user in a channel. */
export const Member = z
  .object({
    userId: field.userId(),
    user: UserSummary,
    role: Role,
    custom: customAnswer({ title: 'CustomMember' }),
    joinedAt: field.time('When the user joined.'),
  })
  .meta({ id: 'Member', description: 'A user in a channel.' })
export type Member = z.infer<typeof Member>

const Ref = z.object({ channelId: field.channelId() })
const MemberRef = Ref.extend({ userId: field.userId() })

/** Membership of channels. */
export const members = {
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/members',
    auth: 'userOrKey',
    summary: 'List members',
    description:
      'Lists the members of a channel in the order they joined. A page may end early, where an ' +
      'answer has no more room.',
    input: Ref.extend({
      limit: field.pageSize({ default: limits.membersShown, max: limits.membersPerCall }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      members: z.array(Member).meta({ description: 'In the order they joined.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  add: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/members',
    auth: 'userOrKey',
    summary: 'Add members',
    description:
      'Adds users to a channel; existing members keep their role. In group and public channels ' +
      'any member may add users, in other channels owners and moderators. Only an owner may give ' +
      'a role other than `member`. The backend may add users to any channel. Not possible in ' +
      'direct messages.',
    input: Ref.extend({
      userIds: z
        .array(field.userId())
        .min(1)
        .max(limits.membersPerCall)
        .meta({
          description:
            'The users to add; fewer at once if the channel has kilobytes of metadata, which ' +
            'each of them is sent.',
          examples: [['ben']],
        }),
      role: Role.default('member').meta({ description: 'The role they get.' }),
      custom: customData({
        title: 'CustomMember',
        description: `With at most ${limits.membersWithCustomPerCall} users.`,
      }).optional(),
    }).refine(
      ({ userIds, custom }) => !custom || userIds.length <= limits.membersWithCustomPerCall,
      { error: `expected at most ${limits.membersWithCustomPerCall} users`, path: ['userIds'] },
    ),
    output: z.object({
      members: z.array(Member).meta({
        description: 'The given users, as members: as many as an answer has room for.',
      }),
      memberCount: z
        .int()
        .meta({ description: 'How many members the channel has now.', examples: [3] }),
    }),
  }),
  update: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/members/{userId}',
    auth: 'user',
    idempotent: true,
    summary: 'Change a member',
    description:
      'Gives a member another role, or changes their metadata in the channel, or both. Owners ' +
      'only, except that members may change their own metadata. The last owner cannot give up ' +
      'the role.',
    input: MemberRef.extend({
      role: Role.optional(),
      custom: customChange({ title: 'CustomMember' }),
    }).refine(({ role, custom }) => role !== undefined || custom !== undefined, {
      error: 'expected a role, or custom',
      path: ['role'],
    }),
    output: Member,
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/members/{userId}',
    auth: 'userOrKey',
    summary: 'Remove a member',
    description:
      'Owners may remove anyone, moderators plain members, and every member may remove ' +
      'themselves. The backend may remove anyone. Not possible in direct messages.',
    input: MemberRef,
    output: field.Success,
  }),
  join: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/join',
    auth: 'user',
    idempotent: true,
    summary: 'Join a channel',
    description:
      'Joins a public or livestream channel, or a team channel of your workspace. Joining again ' +
      'changes nothing.',
    input: Ref,
    output: Member,
  }),
  leave: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/leave',
    auth: 'user',
    summary: 'Leave a channel',
    description:
      'Leaves the channel. If you are the last owner, the oldest moderator becomes the owner, or ' +
      'the oldest member if there is no moderator. Not possible in direct messages.',
    input: Ref,
    output: field.Success,
  }),
}
