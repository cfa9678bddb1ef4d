import { z } from 'zod'
import { Channel } from './channels.ts'
import { Device } from './devices.ts'
import * as field from './fields.ts'
import { grouped, limits, megabytes } from './limits.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'
import { Preferences } from './preferences.ts'
import { User } from './users.ts'
import { Webhook, WebhookDelivery } from './webhooks.ts'

const appId = field.appId()
const q = (what: string) =>
  field
    .text({ min: 1, max: limits.nameLength })
    .optional()
    .meta({ description: what, examples: ['an'] })

/** A channel, as the operator sees it. */
export const InspectedChannel = Channel.pick({ id: true, cid: true, type: true })
  .extend({
    name: z
      .string()
      .nullable()
      .meta({ description: 'Its own name.', examples: ['general'] }),
    directUserIds: z
      .array(z.string())
      .nullable()
      .meta({
        description: 'The two users of a direct message, which has no name; null in others.',
        examples: [null],
      }),
    workspaceId: field
      .workspaceId()
      .nullable()
      .meta({ description: 'The workspace of a team channel.', examples: [null] }),
    createdBy: z.string().meta({ description: 'Who created it.', examples: ['ana'] }),
    frozen: z.boolean().meta({ description: 'Only the backend may send.', examples: [false] }),
    memberCount: z.int().meta({ description: 'How many members it has.', examples: [3] }),
    lastSeq: z.int().meta({ description: 'The `seq` of its last message.', examples: [12] }),
    lastActivityAt: field.time('When the last message was sent.'),
    createdAt: field.time('When it was created.'),
    muted: z
      .boolean()
      .nullable()
      .meta({
        description: 'Whether the user that was asked for has muted it; null without `userId`.',
        examples: [null],
      }),
  })
  .meta({ id: 'InspectedChannel', description: 'A channel, as the operator sees it.' })
export type InspectedChannel = z.infer<typeof InspectedChannel>

const cursor = field.cursor()
const nextCursor = field.nextCursor()

type Filters = {
  q?: string | undefined
  userId?: string | undefined
  channelId?: string | undefined
}
/** A list is searched by a part of the name, by a user or by an id: by one of them. */
const isOneFilter = ({ q, userId, channelId }: Filters) =>
  [q, userId, channelId].filter((filter) => filter !== undefined).length < 2
const twoFilters = { error: 'expected no other filter beside it', path: ['q'] }

/** The content of an app, for the operator. */
export const inspect = {
  users: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/users',
    auth: 'admin',
    summary: 'List the users of an app',
    description:
      'Lists users by name. `q` matches a part of the name, in lower or upper case; `userId` ' +
      'finds the user with exactly this id. Give one of the two.',
    input: z
      .object({
        appId,
        q: q('Part of the name, case-insensitive.'),
        userId: field
          .userId()
          .optional()
          .meta({ description: 'Only the user with this id.', examples: ['ana'] }),
        limit: field.pageSize(limits.page.users),
        cursor,
      })
      .refine(isOneFilter, twoFilters),
    output: z.object({
      users: z.array(User).meta({ description: 'By name, then id.' }),
      nextCursor,
    }),
  }),
  notifications: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/users/{userId}/notifications',
    auth: 'admin',
    summary: "See a user's notification settings",
    description:
      'Returns the preferences and the devices of a user, which decide with the muted channels ' +
      'what is pushed to them. Push tokens are left out.',
    input: z.object({ appId, userId: field.userId() }),
    output: z.object({
      preferences: Preferences.meta({
        description: 'Including the defaults of those that the user never changed.',
      }),
      devices: z
        .array(Device)
        .meta({ description: 'Without one, nothing is pushed. Oldest first.' }),
    }),
  }),
  channels: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/channels',
    auth: 'admin',
    summary: 'List the channels of an app',
    description:
      'Lists channels of every type, the newest first. `q` finds them by a part of their name: ' +
      'first public channels and livestreams, then all others. One call looks at ' +
      `${grouped(limits.inspectSlice)} of the others, so a page may have few channels, or none, ` +
      'and a `nextCursor` all the same. `userId` finds those that a user is a member of, ' +
      '`channelId` the one with this id. Give one of the three.',
    input: z
      .object({
        appId,
        q: q('Part of the name, case-insensitive.'),
        userId: field
          .userId()
          .optional()
          .meta({ description: 'Only channels of this member.', examples: ['ana'] }),
        channelId: field
          .channelId()
          .optional()
          .meta({
            description: 'Only the channel with this id.',
            examples: [field.examples.channelId],
          }),
        limit: field.pageSize(limits.page.channels),
        cursor,
      })
      .refine(isOneFilter, twoFilters),
    output: z.object({
      channels: z.array(InspectedChannel).meta({
        description: 'Newest first; with `q`, public channels and livestreams before others.',
      }),
      nextCursor,
    }),
  }),
  messages: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/channels/{channelId}/messages',
    auth: 'admin',
    summary: 'Read the messages of a channel',
    description:
      'Lists messages of a channel, the newest first, tombstones included. With `q` a call looks ' +
      `at ${grouped(limits.inspectSlice)} messages, or at ` +
      `${megabytes(limits.inspectSliceBytes)} of texts, so a page may have few that match, or ` +
      'none, and a `nextCursor` all the same. Each call about a channel that is not open to ' +
      'everybody is noted in the audit log.',
    input: z.object({
      appId,
      channelId: field.channelId(),
      q: q('Part of the text, case-insensitive.'),
      userId: field
        .userId()
        .optional()
        .meta({ description: 'Only messages of this author.', examples: ['ana'] }),
      sentBefore: field
        .timestamp()
        .optional()
        .meta({
          description: 'Only messages sent before this time.',
          examples: ['2026-01-01T14:04:00.000Z'],
        }),
      limit: field.pageSize(limits.page.messages),
      cursor,
    }),
    output: z.object({
      messages: z.array(Message).meta({ description: 'Newest first. A page may end early.' }),
      nextCursor,
    }),
  }),
  webhooks: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/webhooks',
    auth: 'admin',
    summary: 'List the webhooks of an app',
    description: 'Lists all webhooks of an app, without their secrets.',
    input: z.object({ appId }),
    output: z.object({ webhooks: z.array(Webhook).meta({ description: 'Oldest first.' }) }),
  }),
  deliveries: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/webhooks/{webhookId}/deliveries',
    auth: 'admin',
    summary: 'List the deliveries of a webhook',
    description:
      'Lists its deliveries, past and pending. Kept for ' +
      `${limits.webhooks.deliveriesKeptHours} hours.`,
    input: z.object({
      appId,
      webhookId: field.webhookId(),
      limit: field.pageSize(limits.page.deliveries),
      cursor,
    }),
    output: z.object({
      deliveries: z.array(WebhookDelivery).meta({ description: 'Newest first.' }),
      nextCursor,
    }),
  }),
}
