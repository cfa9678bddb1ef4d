/**
 * The payload of each kind of push. Its fields are strings, as the provider's templates want them.
 */
export type PushPayloads = {
  'new-message': Record<
    | 'senderId'
    | 'senderName'
    | 'senderAvatar'
    | 'channelId'
    | 'channelName'
    | 'messagePreview'
    | 'messageId',
    string
  >
  mention: Record<
    | 'mentionedBy'
    | 'mentionedByName'
    | 'channelId'
    | 'channelName'
    | 'messagePreview'
    | 'messageId',
    string
  >
  'channel-invite': Record<
    'invitedBy' | 'invitedByName' | 'channelId' | 'channelName' | 'channelDescription',
    string
  >
  reaction: Record<
    'reactorId' | 'reactorName' | 'emoji' | 'channelId' | 'messagePreview' | 'messageId',
    string
  >
  'thread-reply': Record<
    'replierId' | 'replierName' | 'channelId' | 'channelName' | 'threadId' | 'replyPreview',
    string
  >
}
export type PushKind = keyof PushPayloads

/** The push provider, and the workflow there for each kind of push. */
export type PushSettings = {
  secretKey: string
  apiUrl: string
  tenantId: string | undefined
  workflows: Record<PushKind, string>
}
