/** Text that was appended to a message, and is in the database. */
export type AppendedText = {
  appId: string
  channelId: string
  messageId: string
  at: number
  text: string
  /** Whether the channel has many members, who are sent appended text less often. */
  isLarge: boolean
  /** What the events about it say of their cause. */
  cause: { via?: 'backend' }
}

/** What becomes of messages whose text grows: they are sent to subscribers, and stored. */
export type Streams = { appended: (append: AppendedText) => void }
