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
  ChannelHandle,
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
  Store,
  ThreadSnapshot,
  TokenResult,
  Unread,
  UserSummary,
} from '../index.ts'

const Context = createContext<ChatClient | null>(null)

/**
 * Gives the client to the hooks below it and connects it; the client outlives the component, so that mounting twice, as
 * StrictMode does, makes one connection.
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

/** A store's snapshot; renders again when it changes. On a server it is what the store starts with. */
export const useStore = <Snapshot>(store: Store<Snapshot>): Snapshot =>
  useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot)

/** The user's channels, newest activity first, with unread counts. */
export function useChannels({
  type,
}: ChannelsFilter = {}): ChannelsSnapshot & { loadMore: () => Promise<void> } {
  const store = useChat().channels({ type })
  return { ...useStore(store), loadMore: store.loadMore }
}

/** A channel, live for as long as the component is mounted. */
export function useChannel(channelId: string): ChannelHandle {
  const channel = useChat().channel(channelId)
  useEffect(() => channel.watch(), [channel])
  return channel
}

/** The messages of a channel and what can be done with them. */
export function useMessages(channelId: string): MessagesSnapshot & MessageActions {
  const channel = useChannel(channelId)
  return { ...useStore(channel.messages), ...useActions(channel) }
}

/** What can be done with the messages of a channel, as `useMessages` gives it. */
export type MessageActions = Pick<
  ChannelHandle,
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
  Pick<ChannelHandle['messages'], 'loadOlder' | 'loadNewer' | 'jumpTo' | 'jumpToLatest'>

/** The same functions each time, so that memoised components stay as they are. */
function useActions(channel: ChannelHandle): MessageActions {
  return useMemo(() => {
    const { loadOlder, loadNewer, jumpTo, jumpToLatest } = channel.messages
    return {
      send: (draft) => channel.send(draft),
      edit: (id, change) => channel.edit(id, change),
      delete: (id) => channel.delete(id),
      react: (id, emoji) => channel.react(id, emoji),
      unreact: (id, emoji) => channel.unreact(id, emoji),
      pin: (id) => channel.pin(id),
      unpin: (id) => channel.unpin(id),
      retry: (clientId) => channel.retry(clientId),
      discard: (clientId) => channel.discard(clientId),
      markRead: (id) => channel.markRead(id),
      loadOlder,
      loadNewer,
      jumpTo,
      jumpToLatest,
    }
  }, [channel])
}

/** The replies to a message; `send` replies to it. */
export function useThread(
  channelId: string,
  parentId: string,
): ThreadSnapshot & Pick<MessageActions, 'send' | 'loadOlder' | 'loadNewer'> {
  const channel = useChannel(channelId)
  const thread = channel.thread(parentId)
  const send = useCallback<ChannelHandle['send']>(
    (draft) => channel.send({ ...draft, parentId }),
    [channel, parentId],
  )
  return { ...useStore(thread), send, loadOlder: thread.loadOlder, loadNewer: thread.loadNewer }
}

/** Who else types in a channel; `keystroke` is to be called at each key. */
export function useTyping(channelId: string): {
  typists: readonly UserSummary[]
  keystroke: () => void
} {
  const channel = useChannel(channelId)
  const keystroke = useCallback(() => channel.keystroke(), [channel])
  return { typists: useStore(channel.typing), keystroke }
}

/** How far each member has read. */
export const useReads = (channelId: string): Reads => useStore(useChannel(channelId).reads)

/** Who is in a channel, in which role. */
export const useMembers = (channelId: string): ListSnapshot<Member> =>
  useStore(useChannel(channelId).members)

/** Pinned messages, the newest pin first. */
export const usePins = (channelId: string): ListSnapshot<PinnedMessage> =>
  useStore(useChannel(channelId).pins)

/** Unread messages: in all, and by channel as far as channels are known. */
export const useUnread = (): Unread => useStore(useChat().unread)

/** Whether a user is online. */
export const usePresence = (userId: string): boolean =>
  useStore(useChat().presence(userId)).isOnline

/** The same with when the user was last active. */
export const useLastActive = (userId: string): Presence => useStore(useChat().presence(userId))

/** How the client stands with the server. */
export const useConnection = (): ConnectionState => useStore(useChat().connection)

/** Who chats; null before the first token. */
export const useMe = (): TokenResult['user'] | null => useStore(useChat().me)
