/** Text that was appended to a message, and is in the database. */
export type AppendedText = {
  appId: string
  channelId: string
  messageId: string
  at: number
  text: string
  /** Whether the channel has many members, who are sent appended text less often. */
  isLarge: boolean
  /** The cause that its events name. */
  cause: { via?: 'backend' }
}

/** Sends text that was appended to messages to subscribers, and stores it. */
export type Streams = { appended: (append: AppendedText) => void }
