import type { Channel, ChatMessage, Member } from '@parley/client'
import type { MessageActions } from '@parley/client/react'
import { createContext, useContext } from 'react'

/** The context that the components of an open channel share. */
export type OpenChannel = {
  channel: Channel
  me: string
  members: readonly Member[]
  actions: MessageActions
  openThread: (messageId: string) => void
  /** Quotes a message in the next one. */
  quote: (message: ChatMessage) => void
  /**
   * Scrolls to a message, in its thread if it is a reply. Without a `parentId` it is looked up, and
   * what is not loaded is loaded first.
   */
  show: (message: { id: string; parentId?: string | null }) => void
  /** Whether this is the inside of a thread. */
  isThread: boolean
}

export const OpenChannelContext = createContext<OpenChannel | null>(null)

export function useOpenChannel(): OpenChannel {
  const openChannel = useContext(OpenChannelContext)
  if (!openChannel) throw new Error('useOpenChannel needs an OpenChannelContext above')
  return openChannel
}
