import { type Channel, type Member, select } from '@parley/client'
import { type MessageActions, useChat, useStore } from '@parley/client/react'
import { createContext, useContext, useMemo } from 'react'

/** What everything in an open channel may need. */
export type Room = {
  channel: Channel
  me: string
  members: readonly Member[]
  actions: MessageActions
  openThread: (messageId: string) => void
  /** Shows a message where it was said. */
  show: (messageId: string) => void
  isThread: boolean
}

export const RoomContext = createContext<Room | null>(null)

export function useRoom(): Room {
  const room = useContext(RoomContext)
  if (!room) throw new Error('there is no open channel above')
  return room
}

/** A message of the open channel, if it is among those that are loaded. */
export function useKnown(messageId: string) {
  const { channel } = useRoom()
  const { messages } = useChat().channel(channel.id)
  return useStore(
    useMemo(
      () => select(messages, ({ items }) => items.find(({ id }) => id === messageId)),
      [messages, messageId],
    ),
  )
}
