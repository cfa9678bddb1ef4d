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

const channelId = field.channelId()
const parent = z
  .object({ id: field.messageId(), replyCount: z.int().meta({ description: 'Its live replies now.', examples: [1] }) })
  .optional()
  .meta({ description: 'For a reply: the root of its thread, whose `rev` becomes that of this event.' })
const reacted = z.object({
  channelId,
  messageId: field.messageId(),
  reaction: z.object({ type: z.string(), userId: field.userId() }),
  user: UserSummary,
  reactions: z.array(Reaction),
})
const membership = z.object({ channelId, userId: field.userId(), user: UserSummary, role: Role, memberCount: z.int() })

/** Durable events of a channel's topic: each takes one `rev` of the channel and is kept for recovery (DESIGN §5). */
export const channelEvents = {
  'message.new': z.object({ channelId, message: Message, parent }),
  'message.updated': z.object({ channelId, message: Message }),
  'message.deleted': z.object({ channelId, messageId: field.messageId(), seq: z.int(), deletedAt: field.timestamp(), parent }),
  'reaction.added': reacted,
  'reaction.removed': reacted,
  'channel.member_joined': membership,
  'channel.member_left': membership,
  'channel.member_updated': membership,
  'channel.updated': z.object({ channelId, channel: ChannelProfile }),
  'channel.deleted': z.object({ channelId }),
}

/** Durable events of a user's topic. */
export const userEvents = {
  /** Without the last message: an event that is kept must not outlive the text of a message. */
  'channel.added': z.object({ channel: Channel.omit({ lastMessage: true }) }),
  'channel.removed': z.object({ channelId }),
  'workspace.removed': z.object({ workspaceId: field.uuid() }),
  'channel.settings_changed': z.object({ channelId, starred: z.boolean(), muted: z.boolean() }),
}

export type ChannelEventType = keyof typeof channelEvents
export type UserEventType = keyof typeof userEvents
export type ChannelEvent<T extends ChannelEventType = ChannelEventType> = z.infer<(typeof channelEvents)[T]>
export type UserEvent<T extends UserEventType = UserEventType> = z.infer<(typeof userEvents)[T]>
