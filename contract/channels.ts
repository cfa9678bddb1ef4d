import { z } from 'zod'
import { customAnswer, customChange, customData } from './custom.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { Member, Role } from './members.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'

/** The kinds of channels: who can see and join them. */
export const ChannelType = z
  .enum(['messaging', 'group', 'team', 'livestream', 'public', 'private'])
  .meta({
    id: 'ChannelType',
    description:
      'Who the channel is for. `messaging`: two users. `group`, `private`: its members. ' +
      '`team`: the members of a workspace. `livestream`, `public`: everyone.',
    examples: ['group'],
  })
export type ChannelType = z.infer<typeof ChannelType>

const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the channel.', examples: ['Kitchen talk'] })
const image = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Image URL.', examples: ['https://example.com/kitchen.png'] })
const description = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'What the channel is about.', examples: ['Recipes and leftovers'] })
const workspaceId = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'The workspace it is in.', examples: [field.examples.workspaceId] })

/** A channel as the caller sees it. */
export const Channel = z
  .object({
    id: field.channelId(),
    cid: z.string().meta({
      description: 'Readable identifier, `<type>:<slug>`.',
      examples: ['group:kitchen-talk'],
    }),
    name: name(z.string()).meta({
      description: "Name of the channel; for a direct message the other member's name.",
    }),
    type: ChannelType,
    image: image(z.string().nullable()),
    description: description(z.string().nullable()),
    workspaceId: workspaceId(z.string().nullable()),
    createdBy: field.userId().meta({ description: 'The user who created it.' }),
    memberCount: z.int().meta({ description: 'How many members it has.', examples: [2] }),
    unreadCount: z.int().meta({ description: 'Unread messages for the caller.', examples: [3] }),
    unreadVersion: z.int().meta({
      description: 'Version of `unreadCount`. Ignore counts with a lower one than the last seen.',
      examples: [40],
    }),
    lastMessage: Message.nullable().meta({ description: 'The newest message.' }),
    lastReadSeq: z.int().meta({
      description: "`seq` of the caller's read position; 0 if nothing was read.",
      examples: [9],
    }),
    role: Role.nullable().meta({ description: "The caller's role; null if not a member." }),
    starred: z.boolean().meta({ description: 'Whether the caller starred it.', examples: [false] }),
    muted: z.boolean().meta({ description: 'Whether the caller muted it.', examples: [false] }),
    rev: z.int().meta({
      description: 'Revision of the channel: goes up by 1 with each durable event.',
      examples: [31],
    }),
    members: z
      .array(Member)
      .optional()
      .meta({
        description:
          `The first ${limits.membersShown} members, or as many as there is room for. Present ` +
          'in a single channel, and for direct messages in lists.',
      }),
    frozen: z
      .boolean()
      .meta({ description: 'Whether only the backend may send messages.', examples: [false] }),
    custom: customAnswer({ title: 'CustomChannel' }),
    createdAt: field.time('When it was created.'),
    updatedAt: field.time('When its name, image, description, metadata or frozen last changed.'),
  })
  .meta({ id: 'Channel', description: 'A channel as the caller sees it.' })
export type Channel = z.infer<typeof Channel>

/** The name and the look of a channel, the same for every reader. */
export const ChannelProfile = Channel.pick({
  id: true,
  cid: true,
  name: true,
  type: true,
  image: true,
  description: true,
  workspaceId: true,
  frozen: true,
  custom: true,
  updatedAt: true,
}).meta({
  id: 'ChannelProfile',
  description:
    'The fields that are the same for every reader. The name of a direct message is both names.',
})

const Ref = z.object({ channelId: field.channelId() })

/** Channels, and the caller's own settings of them. */
export const channels = {
  list: operation({
    method: 'GET',
    path: '/api/channels',
    auth: 'userOrKey',
    summary: 'List channels',
    description:
      'Lists your channels, newest activity first, with unread counts and last messages. ' +
      '`discover=true` lists the channels you may join instead: public ones, and the team ' +
      'channels of your workspaces. A backend lists all channels, the newest first, with ' +
      '`limit`, `offset` and `cursor` only. A page may end early: `more` says that more follow.',
    input: z.object({
      limit: field.pageSize(limits.page.channels),
      offset: field.offset(),
      cursor: field
        .cursor()
        .meta({ description: 'For backends only: `nextCursor` of an earlier page.' }),
      type: ChannelType.extract(['messaging', 'group', 'team', 'livestream'])
        .optional()
        .meta({ description: 'Only channels of this type.', examples: ['group'] }),
      discover: z
        .boolean()
        .default(false)
        .meta({ description: 'List the channels you may join.', examples: [false] }),
      q: field
        .text({ max: limits.nameLength })
        .optional()
        .meta({ description: 'Part of the name, case-insensitive.', examples: ['kitchen'] }),
      total: field.wantsTotal(),
    }),
    output: z.object({
      channels: z.array(Channel).meta({ description: 'Newest activity first.' }),
      more: field.more(),
      nextCursor: field.nextCursor().optional().meta({
        description: 'For backends only: the `cursor` of the next page; null on the last page.',
      }),
      settingsVersion: field.settingsVersion(),
      totalUnread: field.totalUnread(),
      totalUnreadVersion: field.totalVersion().optional(),
    }),
  }),
  create: operation({
    method: 'POST',
    path: '/api/channels',
    auth: 'userOrKey',
    status: 201,
    summary: 'Create a channel',
    description:
      'Creates a channel; you become its owner. `messaging` needs exactly one entry in ' +
      '`memberIds`, and returns the existing channel if the two of you already have one; ' +
      'NOT_FOUND if there is no such user. All other types need a `name`. A channel that a ' +
      'backend creates has no owner; it cannot be a direct message.',
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
          .meta({
            description:
              'Further members; fewer at once if the channel has kilobytes of metadata, which ' +
              'each of them is sent.',
            examples: [['ben']],
          }),
        workspaceId: workspaceId(field.uuid()).optional(),
        custom: customData({ title: 'CustomChannel' }).optional(),
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
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}',
    auth: 'userOrKey',
    summary: 'Get a channel',
    description: `Returns one channel with its first ${limits.membersShown} members.`,
    input: Ref,
    output: Channel,
  }),
  update: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}',
    auth: 'userOrKey',
    idempotent: true,
    summary: 'Edit a channel',
    description:
      'Changes the name, image, description or metadata; `null` clears the image or the ' +
      'description. Owners and moderators only, and the backend, which alone may freeze the ' +
      'channel, and change a direct message: its metadata and `frozen`, and nothing else.',
    input: Ref.extend({
      name: name(field.name()).optional(),
      image: image(field.url().nullable()).optional(),
      description: description(field.text({ max: limits.descriptionLength }).nullable()).optional(),
      custom: customChange({ title: 'CustomChannel' }),
      frozen: z
        .boolean()
        .optional()
        .meta({ description: 'Whether only the backend may send messages.', examples: [true] }),
    }),
    output: Channel,
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}',
    auth: 'userOrKey',
    summary: 'Delete a channel',
    description:
      'Deletes the channel and everything in it, for all members. Owners only, and the ' +
      'backend.',
    input: Ref,
    output: field.Success,
  }),
  updateSettings: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/settings',
    auth: 'user',
    idempotent: true,
    summary: 'Star or mute a channel',
    description: 'Changes your own settings of the channel. Omitted fields keep their value.',
    input: Ref.extend({
      starred: z
        .boolean()
        .optional()
        .meta({ description: 'Whether to star it.', examples: [true] }),
      muted: z
        .boolean()
        .optional()
        .meta({ description: 'Whether to mute notifications of new messages.', examples: [false] }),
    }),
    output: field.Success.extend({
      starred: z.boolean().meta({ description: 'Whether you starred it.', examples: [true] }),
      muted: z.boolean().meta({ description: 'Whether you muted it.', examples: [false] }),
    }),
  }),
}
