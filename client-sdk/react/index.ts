'use client'

import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
} from 'react'
import type {
  ChannelsFilter,
  ChannelsSnapshot,
  ChatClient,
  ConnectionState,
  ListSnapshot,
  Member,
  MessagesSnapshot,
  PinnedMessage,
  Presence,
  ReadsSnapshot,
  Room,
  RoomInfo,
  ThreadSnapshot,
  TokenResult,
  Unread,
  UserSummary,
} from '../index.ts'
import { type MessageActions, type ThreadActions, useActions, useThreadActions } from './actions.ts'
import { NO_LIST, NO_MESSAGES, NO_PRESENCE, NO_READS, NO_RECORD, NO_THREAD } from './none.ts'
import { useStore } from './store.ts'

export type { MessageActions, ThreadActions } from './actions.ts'
export { type UseChatClientOptions, useChatClient } from './client.ts'
export { useSelect, useStore } from './store.ts'

const Context = createContext<ChatClient | null>(null)

/**
 * Passes the client to the hooks below it, and connects it. The client outlives the component:
 * mounting it twice, as StrictMode does, opens one connection. `useChatClient` makes clients.
 */
export function ChatProvider({ client, children }: { client: ChatClient; children?: ReactNode }) {
  useEffect(() => {
    client.connect().catch(() => {}) // rejects only when the application disconnects
  }, [client])
  return createElement(Context.Provider, { value: client }, children)
}

/** The client of the nearest ChatProvider. */
export function useChat(): ChatClient {
  const client = useContext(Context)
  if (!client) throw new Error('unable to use chat; there is no ChatProvider above')
  return client
}

/** The user's channels, newest activity first, with unread counts. */
export function useChannels({
  type,
}: ChannelsFilter = {}): ChannelsSnapshot & { loadMore: () => Promise<void> } {
  const store = useChat().channels({ type })
  return { ...useStore(store), loadMore: store.loadMore }
}

/** The room of a channel, live while the component is mounted. */
export function useChannel(channelId: string): Room
/** Like all hooks that take an id it accepts undefined, as long as nothing is chosen. */
export function useChannel(channelId: string | undefined): Room | undefined
export function useChannel(channelId: string | undefined) {
  const room = useRoom(channelId)
  useEffect(() => room?.watch(), [room])
  return room
}

/** The same, not watched: each store of a room is live while something subscribes to it. */
function useRoom(channelId: string | undefined): Room | undefined {
  const chat = useChat()
  return channelId === undefined ? undefined : chat.channel(channelId)
}

/** The live record of a channel: name, image, role, counts. */
export const useChannelInfo = (channelId: string | undefined): RoomInfo =>
  useStore(useRoom(channelId)?.info ?? NO_RECORD)

/** The messages of a channel, and the actions on them. Without replies if these are false. */
export function useMessages(
  channelId: string | undefined,
  { replies = true }: { replies?: boolean } = {},
): MessagesSnapshot & MessageActions {
  const room = useChannel(channelId)
  const messages = room?.messages({ replies })
  return { ...useStore(messages ?? NO_MESSAGES), ...useActions(room, messages) }
}

/** The replies to a message, and the actions on them; its `send` replies to that message. */
export function useThread(
  channelId: string | undefined,
  parentId: string | undefined,
): ThreadSnapshot & ThreadActions {
  const room = useChannel(channelId)
  const thread = parentId === undefined ? undefined : room?.thread(parentId)
  const actions = useThreadActions(room, { thread, parentId })
  return { ...useStore(thread ?? NO_THREAD), ...actions }
}

/** The other users who are typing in a channel; call `keystroke` on each key press. */
export function useTyping(channelId: string | undefined): {
  typists: readonly UserSummary[]
  keystroke: () => void
} {
  const room = useRoom(channelId)
  const keystroke = useCallback(() => room?.keystroke(), [room])
  return { typists: useStore(room?.typing ?? NO_LIST).items, keystroke }
}

/** How far each member has read. */
export const useReads = (channelId: string | undefined): ReadsSnapshot =>
  useStore(useRoom(channelId)?.reads ?? NO_READS)

/** The members of a channel and their roles. */
export const useMembers = (channelId: string | undefined): ListSnapshot<Member> =>
  useStore(useRoom(channelId)?.members ?? NO_LIST)

/** Pinned messages, the newest pin first. */
export const usePins = (channelId: string | undefined): ListSnapshot<PinnedMessage> =>
  useStore(useRoom(channelId)?.pins ?? NO_LIST)

/** Unread messages: the total, and by channel for the channels that were loaded. */
export const useUnread = (): Unread => useStore(useChat().unread)

/** Whether a user is online. */
export const usePresence = (userId: string | undefined): boolean => useLastActive(userId).isOnline

/** Whether a user is online, and when they were last active. */
export function useLastActive(userId: string | undefined): Presence {
  const chat = useChat()
  return useStore(userId === undefined ? NO_PRESENCE : chat.presence(userId))
}

/** The state of the connection to the server. */
export const useConnection = (): ConnectionState => useStore(useChat().connection)

/** The user; null before the first token. */
export const useMe = (): TokenResult['user'] | null => useStore(useChat().me)
