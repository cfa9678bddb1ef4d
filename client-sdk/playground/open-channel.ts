import { type Channel, type ChatMessage, type Member, select } from '@parley/client'
import { type MessageActions, useChat, useStore } from '@parley/client/react'
import { createContext, useContext, useMemo } from 'react'

/** What the components of an open channel share. */
export type OpenChannel = {
  channel: Channel
  me: string
  members: readonly Member[]
  actions: MessageActions
  openThread: (messageId: string) => void
  /** Quotes a message in the next one. */
  quote: (message: ChatMessage) => void
  /** Scrolls to a message, and loads it first if necessary. */
  show: (messageId: string) => void
  /** Whether this is the inside of a thread. */
  isThread: boolean
}

export const OpenChannelContext = createContext<OpenChannel | null>(null)

export function useOpenChannel(): OpenChannel {
  const openChannel = useContext(OpenChannelContext)
  if (!openChannel) throw new Error('useOpenChannel needs an OpenChannelContext above')
  return openChannel
}

/** A message of the open channel, if it is loaded. */
export function useLoadedMessage(messageId: string) {
  const { channel } = useOpenChannel()
  const { messages } = useChat().channel(channel.id)
  return useStore(
    useMemo(
      () => select(messages, ({ items }) => items.find(({ id }) => id === messageId)),
      [messages, messageId],
    ),
  )
}
