/** The kinds of pushes, and what each tells: all of it strings. */
export type Payloads = {
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
export type Kind = keyof Payloads

/** The push provider, and what our kinds of pushes are called there. */
export type PushSettings = {
  secretKey: string
  apiUrl: string
  tenantId: string | undefined
  workflows: Record<Kind, string>
}
