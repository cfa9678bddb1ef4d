import type { QueuedJob } from '../tasks.ts'
import { excerptOf, type PushEvent, pushEvent } from './events.ts'
import type { InviteRecipient, MessageRecipients, ReactionRecipient } from './recipients.ts'
import type { MessagePushKind } from './rules.ts'
import type { PushSettings } from './settings.ts'

/** A message as one user is notified of it. */
type MessagePush = Omit<MessageRecipients, 'appId' | 'recipients' | 'text'> & {
  job: QueuedJob<'push-message'>
  userId: string
  excerpt: string
}

export function messageEvent(
  push: PushSettings,
  kind: MessagePushKind,
  message: MessagePush,
): PushEvent<'push-message'> {
  const { messageId, channelId, channelName, senderId, senderName, excerpt } = message
  const event = { job: message.job, subject: messageId, userId: message.userId }
  switch (kind) {
    case 'mention':
      return pushEvent(push, kind, {
        ...event,
        payload: {
          mentionedBy: senderId,
          mentionedByName: senderName,
          channelId,
          channelName,
          messagePreview: excerpt,
          messageId,
        },
      })
    case 'thread-reply':
      return pushEvent(push, kind, {
        ...event,
        payload: {
          replierId: senderId,
          replierName: senderName,
          channelId,
          channelName,
          threadId: message.threadId ?? '',
          replyPreview: excerpt,
        },
      })
    case 'new-message':
      return pushEvent(push, kind, {
        ...event,
        payload: {
          senderId,
          senderName,
          senderAvatar: message.senderAvatar,
          channelId,
          channelName,
          messagePreview: excerpt,
          messageId,
        },
      })
  }
}

/** A reaction that is removed and added again is the same push: the provider delivers it once. */
export const reactionEvent = (
  push: PushSettings,
  { appId, userId, messageId, channelId, text, emoji, reactorId, reactorName }: ReactionRecipient,
): PushEvent<'push-reaction'> =>
  pushEvent(push, 'reaction', {
    job: { appId, messageId, userId: reactorId, emoji },
    subject: `${messageId}:${reactorId}:${emoji}`,
    userId,
    payload: {
      reactorId,
      reactorName,
      emoji,
      channelId,
      messagePreview: excerptOf(text),
      messageId,
    },
  })

export function inviteEvent(push: PushSettings, invite: InviteRecipient): PushEvent<'push-invite'> {
  const { job, userId, joinedAt, channelId, channelName, channelDescription } = invite
  const { invitedBy, invitedByName } = invite
  return pushEvent(push, 'channel-invite', {
    job,
    subject: `${channelId}:${Date.parse(joinedAt)}`,
    userId,
    payload: { invitedBy, invitedByName, channelId, channelName, channelDescription },
  })
}
