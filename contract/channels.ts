import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { Member, Role } from './members.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'

/** Channel types (SPEC "Channel types"). */
export const ChannelType = z
  .enum(['messaging', 'group', 'team', 'livestream', 'public', 'private'])
  .meta({
    description:
      'messaging: two people. group, private: its members. team: a workspace. livestream, public: everyone.',
    examples: ['group'],
  })
export type ChannelType = z.infer<typeof ChannelType>

const when = '2026-11-21T09:30:00.000Z'
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the channel.', examples: ['Kitchen talk'] })
const image = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Image URL.', examples: ['https://example.com/kitchen.png'] })
const description = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'What the channel is about.', examples: ['Recipes and leftovers'] })
const workspaceId = <S extends z.ZodType>(schema: S) =>
  schema.meta({
    description: 'The workspace it belongs to.',
    examples: ['019c9b1c-5d4e-7a1b-9c2d-3e4f50617283'],
  })

/** A channel as its reader sees it (SPEC "Channel", DESIGN §4 channel record). */
export const Channel = z
  .object({
    id: field.channelId(),
    cid: z.string().meta({
      description: 'Composite identifier `<type>:<slug>`.',
      examples: ['group:kitchen-talk'],
    }),
    name: name(z.string()).meta({
      description: "Name of the channel; in a direct message the other member's name.",
    }),
    type: ChannelType,
    image: image(z.string().nullable()),
    description: description(z.string().nullable()),
    workspaceId: workspaceId(z.string().nullable()),
    createdBy: field.userId().meta({ description: 'Who created it.' }),
    memberCount: z.int().meta({ description: 'How many members it has.', examples: [2] }),
    unreadCount: z.int().meta({ description: 'Unread messages for the caller.', examples: [3] }),
    lastMessage: Message.nullable().meta({ description: 'The newest message.' }),
    lastReadSeq: z.int().meta({
      description: "Seq of the caller's read position; 0 when nothing was read.",
      examples: [9],
    }),
    role: Role.nullable().meta({ description: "The caller's role; null when not a member." }),
    starred: z.boolean().meta({ description: 'Whether the caller starred it.', examples: [false] }),
    muted: z.boolean().meta({ description: 'Whether the caller muted it.', examples: [false] }),
    rev: z
      .int()
      .meta({ description: 'Counts every durable change of the channel.', examples: [31] }),
    members: z.array(Member).optional().meta({
      description:
        'The first 100 members: in a single channel, and of direct messages in listings.',
    }),
    createdAt: field.timestamp().meta({ description: 'When it was created.', examples: [when] }),
    updatedAt: field
      .timestamp()
      .meta({ description: 'When its name, image or description last changed.', examples: [when] }),
  })
  .meta({ id: 'Channel', description: 'A channel as its reader sees it.' })
export type Channel = z.infer<typeof Channel>

/** What a channel is called and looks like, the same for everybody. */
export const ChannelProfile = Channel.pick({
  id: true,
  cid: true,
  name: true,
  type: true,
  image: true,
  description: true,
  workspaceId: true,
  updatedAt: true,
}).meta({
  id: 'ChannelProfile',
  description: 'What a channel is called and looks like, the same for everybody.',
})

const Ref = z.object({ channelId: field.channelId() })

/** Channels (SPEC "Channels", DESIGN §4). */
export const channels = {
  /** The caller's channels, newest activity first; with `discover` the ones that can be joined. */
  list: operation({
    method: 'GET',
    path: '/api/channels',
    auth: 'user',
    summary: 'List channels',
    description:
      'Your channels, newest activity first, with unread counts and last messages. `discover=true` lists the channels you may join instead: public ones, and the team channels of your workspaces.',
    input: z.object({
      limit: field.pageSize(limits.page.channels),
      offset: field.offset(),
      type: ChannelType.extract(['messaging', 'group', 'team', 'livestream'])
        .optional()
        .meta({ description: 'Only channels of this type.', examples: ['group'] }),
      discover: z
        .boolean()
        .default(false)
        .meta({ description: 'List public channels that can be joined.', examples: [false] }),
      q: field
        .text({ max: limits.nameLength })
        .optional()
        .meta({ description: 'Part of the name, in any case.', examples: ['kitchen'] }),
    }),
    output: z.object({
      channels: z.array(Channel).meta({ description: 'Newest activity first.' }),
    }),
  }),
  /** Creates a channel with the caller as owner. A direct message of a pair that has one answers with that one. */
  create: operation({
    method: 'POST',
    path: '/api/channels',
    auth: 'user',
    status: 201,
    summary: 'Create a channel',
    description:
      'Creates a channel; the caller becomes its owner. `messaging` wants exactly one entry in `memberIds` and answers with the existing channel when the pair has one. All other types want a `name`.',
    input: z
      .object({
        name: name(field.name()).optional(),
        type: ChannelType,
        description: description(field.text({ max: limits.descriptionLength })).optional(),
        image: image(field.url()).optional(),
        memberIds: z
          .array(field.userId())
          .max(limits.membersPerCall)
          .default([])
          .meta({ description: 'Further members.', examples: [['ben']] }),
        workspaceId: workspaceId(field.uuid()).optional(),
        clientId: field.clientId().optional(),
      })
      .refine((channel) => channel.type !== 'messaging' || channel.memberIds?.length === 1, {
        error: 'expected exactly 1 entry for a channel of type messaging',
        path: ['memberIds'],
      })
      .refine((channel) => channel.type === 'messaging' || channel.name !== undefined, {
        error: 'expected a name',
        path: ['name'],
      }),
    output: Channel,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** One channel with its first 100 members. */
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}',
    auth: 'user',
    summary: 'Get a channel',
    description: 'One channel with its first 100 members.',
    input: Ref,
    output: Channel,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Changes name, image or description. Owners and moderators; never of a direct message. */
  update: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}',
    auth: 'user',
    summary: 'Edit a channel',
    description:
      'Changes name, image or description (`null` clears image and description). For owners and moderators; a direct message can not be edited.',
    input: Ref.extend({
      name: name(field.name()).optional(),
      image: image(field.url().nullable()).optional(),
      description: description(field.text({ max: limits.descriptionLength }).nullable()).optional(),
    }),
    output: Channel,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Deletes a channel for everybody. Owner only. */
  delete: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}',
    auth: 'user',
    summary: 'Delete a channel',
    description: 'Deletes the channel and everything in it, for everybody. For its owner.',
    input: Ref,
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** The caller's own settings of a channel. */
  updateSettings: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/settings',
    auth: 'user',
    summary: 'Star or mute a channel',
    description: 'Your own settings of the channel; fields left out keep their value.',
    input: Ref.extend({
      starred: z
        .boolean()
        .optional()
        .meta({ description: 'Keep it at hand.', examples: [true] }),
      muted: z
        .boolean()
        .optional()
        .meta({ description: 'No notifications of new messages.', examples: [false] }),
    }),
    output: field.Success.extend({
      starred: z.boolean().meta({ description: 'Whether you starred it.', examples: [true] }),
      muted: z.boolean().meta({ description: 'Whether you muted it.', examples: [false] }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
