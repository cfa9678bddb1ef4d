export type { CallOptions } from './call-options.ts'
export type { ChannelsFilter, ChannelsSnapshot, ChannelsStore } from './channels/list.ts'
export type { Unread } from './channels/unread.ts'
export type { ChatClient } from './chat-client.ts'
export { createChatClient } from './client.ts'
export type { ChatClientOptions } from './client-options.ts'
export type { ConnectionState } from './connection.ts'
export type * from './custom.ts'
export { ChatError, type ChatErrorCode, isChatError } from './error.ts'
export type { ChatEvent, ChatEvents, LoggedOut, Refused, Resync } from './events.ts'
export type { Presence } from './presence.ts'
export type {
  ChatMessage,
  Draft,
  ListSnapshot,
  MessagesSnapshot,
  MessagesStore,
  OutgoingMessage,
  PagedStore,
  ReadPosition,
  ReadsSnapshot,
  Room,
  RoomInfo,
  ThreadSnapshot,
  TypingSnapshot,
} from './room/index.ts'
export type { LoadStatus } from './room/resources.ts'
export type { Snapshots } from './snapshot-source.ts'
export {
  indexedDbStorage,
  type MessageEdit,
  memoryStorage,
  type OutboxOperation,
  type OutboxStorage,
  type Outgoing,
  type OutgoingChange,
  type OutgoingRead,
  type StoredSession,
} from './storage.ts'
export { type Store, select } from './store.ts'
export type { TokenProvider } from './tokens.ts'
export type * from './types.ts'
