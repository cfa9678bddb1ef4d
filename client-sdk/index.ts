export type { Snapshots } from './backing-store/snapshot-source.ts'
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
} from './backing-store/storage.ts'
export type { CallOptions } from './calls/call-options.ts'
export { ChatError, type ChatErrorCode, isChatError } from './calls/error.ts'
export type { ChannelsFilter, ChannelsSnapshot, ChannelsStore } from './channels/list.ts'
export type { Unread } from './channels/unread.ts'
export type { ChatClient } from './chat-client.ts'
export { createChatClient } from './client.ts'
export type { ChatClientOptions } from './client-options.ts'
export type * from './custom.ts'
export type * from './generated/types.ts'
export type { ConnectionState } from './realtime/connection.ts'
export type { ChatEvent, ChatEvents, LoggedOut, Refused, Resync } from './realtime/events.ts'
export type { Presence } from './realtime/presence.ts'
export type { TokenProvider } from './realtime/tokens.ts'
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
export { type Store, select } from './shared/store.ts'
