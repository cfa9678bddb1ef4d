import {
  createContext,
  createElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
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
  Reads,
  Room,
  Store,
  ThreadSnapshot,
  TokenResult,
  Unread,
  UserSummary,
} from '../index.ts'

const Context = createContext<ChatClient | null>(null)

/**
 * Passes the client to the hooks below it, and connects it. The client outlives the component:
 * mounting it twice, as StrictMode does, opens one connection.
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

/**
 * A store's snapshot; rerenders when it changes. On a server it is the store's initial snapshot.
 */
export const useStore = <Snapshot>(store: Store<Snapshot>): Snapshot =>
  useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot)

/** The user's channels, newest activity first, with unread counts. */
export function useChannels({
  type,
}: ChannelsFilter = {}): ChannelsSnapshot & { loadMore: () => Promise<void> } {
  const store = useChat().channels({ type })
  return { ...useStore(store), loadMore: store.loadMore }
}

/** The room of a channel, live while the component is mounted. */
export function useChannel(channelId: string): Room {
  const room = useChat().channel(channelId)
  useEffect(() => room.watch(), [room])
  return room
}

/** The messages of a channel, and the actions on them. */
export function useMessages(channelId: string): MessagesSnapshot & MessageActions {
  const room = useChannel(channelId)
  return { ...useStore(room.messages), ...useActions(room) }
}

/** The actions on the messages of a channel that `useMessages` returns. */
export type MessageActions = Pick<
  Room,
  | 'send'
  | 'edit'
  | 'delete'
  | 'react'
  | 'unreact'
  | 'pin'
  | 'unpin'
  | 'retry'
  | 'discard'
  | 'markRead'
> &
  Pick<Room['messages'], 'loadOlder' | 'loadNewer' | 'jumpTo' | 'jumpToLatest'>

/** The same functions at each render, so that memoised components do not rerender. */
function useActions(room: Room): MessageActions {
  return useMemo(() => {
    const { loadOlder, loadNewer, jumpTo, jumpToLatest } = room.messages
    return {
      send: (draft) => room.send(draft),
      edit: (id, change) => room.edit(id, change),
      delete: (id) => room.delete(id),
      react: (id, emoji) => room.react(id, emoji),
      unreact: (id, emoji) => room.unreact(id, emoji),
      pin: (id) => room.pin(id),
      unpin: (id) => room.unpin(id),
      retry: (clientId) => room.retry(clientId),
      discard: (clientId) => room.discard(clientId),
      markRead: (id) => room.markRead(id),
      loadOlder,
      loadNewer,
      jumpTo,
      jumpToLatest,
    }
  }, [room])
}

/** The replies to a message; its `send` replies to that message. */
export function useThread(
  channelId: string,
  parentId: string,
): ThreadSnapshot & Pick<MessageActions, 'send' | 'loadOlder' | 'loadNewer'> {
  const room = useChannel(channelId)
  const thread = room.thread(parentId)
  const send = useCallback<Room['send']>(
    (draft) => room.send({ ...draft, parentId }),
    [room, parentId],
  )
  return { ...useStore(thread), send, loadOlder: thread.loadOlder, loadNewer: thread.loadNewer }
}

/** The other users who are typing in a channel; call `keystroke` on each key press. */
export function useTyping(channelId: string): {
  typists: readonly UserSummary[]
  keystroke: () => void
} {
  const room = useChannel(channelId)
  const keystroke = useCallback(() => room.keystroke(), [room])
  return { typists: useStore(room.typing), keystroke }
}

/** How far each member has read. */
export const useReads = (channelId: string): Reads => useStore(useChannel(channelId).reads)

/** The members of a channel and their roles. */
export const useMembers = (channelId: string): ListSnapshot<Member> =>
  useStore(useChannel(channelId).members)

/** Pinned messages, the newest pin first. */
export const usePins = (channelId: string): ListSnapshot<PinnedMessage> =>
  useStore(useChannel(channelId).pins)

/** Unread messages: the total, and by channel for the channels that were loaded. */
export const useUnread = (): Unread => useStore(useChat().unread)

/** Whether a user is online. */
export const usePresence = (userId: string): boolean =>
  useStore(useChat().presence(userId)).isOnline

/** Whether a user is online, and when they were last active. */
export const useLastActive = (userId: string): Presence => useStore(useChat().presence(userId))

/** The state of the connection to the server. */
export const useConnection = (): ConnectionState => useStore(useChat().connection)

/** The user; null before the first token. */
export const useMe = (): TokenResult['user'] | null => useStore(useChat().me)
