import { z } from 'zod'
import { Channel, ChannelProfile } from './channels.ts'
import * as field from './fields.ts'
import { Role } from './members.ts'
import { Message, Reaction } from './messages.ts'
import { UserSummary } from './users.ts'

/** Where events are published: one topic a channel, one a user (SPEC "Real-time transport"). */
export const topics = {
  channel: (appId: string, channelId: string) => `chat:${appId}:${channelId}`,
  user: (appId: string, userId: string) => `user:${appId}:${userId}`,
}

/** What a topic names; null for a string that is no topic. User ids may contain colons. */
export function parseTopic(topic: string): TopicRef | null {
  const [, kind, appId = '', id = ''] = /^(chat|user):([^:]+):(.+)$/s.exec(topic) ?? []
  if (!field.appId().safeParse(appId).success || appId !== appId.toLowerCase()) return null
  if (kind === 'chat') return isCanonicalUuid(id) ? { kind, appId, channelId: id } : null
  return kind === 'user' && field.userId().safeParse(id).success
    ? { kind, appId, userId: id }
    : null
}
export type TopicRef =
  | { kind: 'chat'; appId: string; channelId: string }
  | { kind: 'user'; appId: string; userId: string }
const isCanonicalUuid = (id: string) =>
  id === id.toLowerCase() && field.uuid().safeParse(id).success

const when = '2026-11-21T09:30:00.000Z'
const channelId = field.channelId()
const userId = field.userId()
const at = (description: string) => field.timestamp().meta({ description, examples: [when] })
const parent = z
  .object({
    id: field.messageId(),
    replyCount: z.int().meta({ description: 'Its live replies now.', examples: [1] }),
  })
  .optional()
  .meta({
    description: 'For a reply: the root of its thread, whose `rev` becomes that of this event.',
  })
const reacted = z.object({
  channelId,
  messageId: field.messageId(),
  reaction: z
    .object({ type: z.string().meta({ description: 'The emoji.', examples: ['👍'] }), userId })
    .meta({ description: 'What was added or taken back, and by whom.' }),
  user: UserSummary.meta({ description: 'Who reacted.' }),
  reactions: z
    .array(Reaction)
    .meta({ description: 'All reactions to the message after the change; `own` is false.' }),
})
const membership = z.object({
  channelId,
  userId,
  user: UserSummary,
  role: Role,
  memberCount: z
    .int()
    .meta({ description: 'How many members the channel has now.', examples: [3] }),
})
const typing = z.object({
  channelId,
  userId,
  user: UserSummary.meta({ description: 'Who types.' }),
})
const channelChanged = z.object({ channelId, channel: ChannelProfile })
const channelGone = z.object({ channelId })
const presence = z.object({
  userId,
  lastActiveAt: field
    .timestamp()
    .nullable()
    .meta({ description: 'When the user was last active.', examples: [when] }),
})

/** Durable events of a channel's topic: each takes one `rev` of the channel and is kept for recovery (DESIGN §5). */
export const channelEvents = {
  'message.new': z
    .object({ channelId, message: Message, parent })
    .meta({ description: 'A message was sent.' }),
  'message.updated': z.object({ channelId, message: Message }).meta({
    description: 'A message was edited, pinned or unpinned, or its link previews are ready.',
  }),
  'message.deleted': z
    .object({
      channelId,
      messageId: field.messageId(),
      seq: z
        .int()
        .meta({ description: 'Its place in the channel, which stays taken.', examples: [12] }),
      deletedAt: at('When it was deleted.'),
      parent,
    })
    .meta({ description: 'A message was deleted.' }),
  'reaction.added': reacted.meta({ description: 'A user reacted to a message.' }),
  'reaction.removed': reacted.meta({ description: 'A user took a reaction back.' }),
  'channel.member_joined': membership.meta({ description: 'A user became a member.' }),
  'channel.member_left': membership.meta({
    description: 'A user ceased to be a member; ends his subscription.',
  }),
  'channel.member_updated': membership.meta({ description: 'A member has another role.' }),
  'channel.updated': channelChanged.meta({ description: 'Name, image or description changed.' }),
  'channel.deleted': channelGone.meta({
    description: 'The channel was deleted; ends every subscription.',
  }),
}

/** Durable events of a user's topic. */
export const userEvents = {
  'channel.added': z
    // Without the last message: an event that is kept must not outlive the text of a message.
    .object({
      channel: Channel.omit({ lastMessage: true }).meta({
        description: 'The channel as the user sees it.',
      }),
    })
    .meta({ description: 'The user became a member of a channel.' }),
  'channel.removed': channelGone.meta({
    description: 'The user ceased to be a member of a channel.',
  }),
  'workspace.removed': z
    .object({
      workspaceId: field.uuid().meta({
        description: 'Id of the workspace.',
        examples: ['019c9b1c-5d4e-7a1b-9c2d-3e4f50617283'],
      }),
    })
    .meta({ description: 'The user ceased to be a member of a workspace.' }),
  'channel.settings_changed': z
    .object({
      channelId,
      starred: z.boolean().meta({ description: 'Whether the user starred it.', examples: [true] }),
      muted: z.boolean().meta({ description: 'Whether the user muted it.', examples: [false] }),
    })
    .meta({ description: 'The user starred or muted a channel, for his other devices.' }),
}

/** Ephemeral events of a channel's topic: heard by who is subscribed, never kept. */
export const ephemeralChannelEvents = {
  'typing.start': typing.meta({
    description: 'A user types; `typing.stop` follows within 6 seconds of the last one.',
  }),
  'typing.stop': typing.meta({ description: 'A user stopped typing.' }),
  'read.updated': z
    .object({
      channelId,
      userId,
      lastReadSeq: z.int().meta({
        description: "Seq of the user's read position; 0 when nothing was read.",
        examples: [12],
      }),
      lastReadMessageId: field
        .messageId()
        .nullable()
        .meta({ description: 'The message at that seq.' }),
      readAt: at('When the position was reached.'),
    })
    .meta({ description: "A user's read position, sent with every POST read and POST receipts." }),
  read_receipt: z
    .object({
      channelId,
      messageId: field.messageId(),
      userId,
      name: UserSummary.shape.name,
      image: UserSummary.shape.image,
      readAt: at('When the message was read.'),
    })
    .meta({ description: 'A user read a specific message.' }),
}

/** Ephemeral events of a user's topic. Counts are absolute, so that the last one heard is right. */
export const ephemeralUserEvents = {
  'channel.unread_changed': z
    .object({
      channelId,
      count: z.int().meta({ description: 'Unread messages in the channel now.', examples: [3] }),
    })
    .meta({ description: 'The unread count of a channel, absolute.' }),
  'channel.total_unread_changed': z
    .object({
      count: z.int().meta({ description: 'Unread messages over all channels now.', examples: [7] }),
    })
    .meta({ description: 'The unread count over all channels, absolute.' }),
  'channel.updated': channelChanged.meta({
    description: "Copy of the channel's own event, for members who have not subscribed to it.",
  }),
  'channel.deleted': channelGone.meta({
    description: "Copy of the channel's own event, for members who have not subscribed to it.",
  }),
  'user.updated': z
    .object({ user: UserSummary })
    .meta({ description: 'Somebody the user shares a channel with has a new name or image.' }),
  'presence.online': presence.meta({
    description: 'The user, or somebody he shares a small channel with, came online.',
  }),
  'presence.offline': presence.meta({
    description: 'The same user went offline: no connection for 15 seconds.',
  }),
}

export type ChannelEventType = keyof typeof channelEvents
export type UserEventType = keyof typeof userEvents
export type EphemeralChannelEventType = keyof typeof ephemeralChannelEvents
export type EphemeralUserEventType = keyof typeof ephemeralUserEvents
export type ChannelEvent<T extends ChannelEventType = ChannelEventType> = z.infer<
  (typeof channelEvents)[T]
>
export type UserEvent<T extends UserEventType = UserEventType> = z.infer<(typeof userEvents)[T]>
export type EphemeralChannelEvent<T extends EphemeralChannelEventType = EphemeralChannelEventType> =
  z.infer<(typeof ephemeralChannelEvents)[T]>
export type EphemeralUserEvent<T extends EphemeralUserEventType = EphemeralUserEventType> = z.infer<
  (typeof ephemeralUserEvents)[T]
>

type Envelopes<Events extends Record<string, z.ZodType>> = {
  [Type in keyof Events & string]: { type: Type; payload: z.infer<Events[Type]> }
}[keyof Events & string]
/** The one form of every publication: what happened, and its facts (SPEC "Real-time transport"). */
export type Envelope =
  | Envelopes<typeof channelEvents>
  | Envelopes<typeof userEvents>
  | Envelopes<typeof ephemeralChannelEvents>
  | Envelopes<typeof ephemeralUserEvents>

/** Input of the tRPC subscription `events.topic`: `since` asks for everything after that offset; tRPC sends `lastEventId` itself when it reconnects. */
export const TopicInput = z.object({
  topic: z.string(),
  since: z.int().min(0).optional(),
  lastEventId: z.string().regex(/^\d+$/).optional(),
})
export type TopicInput = z.infer<typeof TopicInput>
