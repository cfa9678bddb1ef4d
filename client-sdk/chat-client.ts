import type { ChannelsFilter, ChannelsStore } from './channels/list.ts'
import type { Unread } from './channels/unread.ts'
import type { TokenResult, UserApi } from './generated/types.ts'
import type { ConnectionState } from './realtime/connection.ts'
import type { ChatEvent, ChatEvents } from './realtime/events.ts'
import type { Presence } from './realtime/presence.ts'
import type { Room } from './room/types.ts'
import type { Store } from './shared/store.ts'

/**
 * Everything a front end needs to chat as one user: see `createChatClient`. Anything with this
 * shape will do for the hooks, such as the fake of `@parley/client/testing`.
 */
export interface ChatClient {
  /** Every operation of a user as a typed call. Rejects with a ChatError; retried where safe. */
  readonly api: UserApi
  /** The state of the connection to the server. */
  readonly connection: Store<ConnectionState>
  /** The user; null before the first token and after a logout. */
  readonly me: Store<TokenResult['user'] | null>
  /** Unread messages, as the server counts them: the total, and by channel for loaded channels. */
  readonly unread: Store<Unread>

  /**
   * Connects; idempotent. Resolves when every store is up to date, and retries until then. Rejects
   * only if `disconnect()` comes first, or after a logout.
   */
  connect(): Promise<void>

  /** Closes the connection. Stores keep their snapshots, unsent messages stay in the outbox. */
  disconnect(): void

  /**
   * Disconnects, and removes everything of the user from this device: unsent messages and changes,
   * which are discarded, the session and the snapshots. Other tabs that share the outbox end the
   * same way, at once or when they connect again. An ended client emits `logout`, its `me` is null,
   * and `connect()` and whatever goes to the outbox reject with `ABORTED`: make another client for
   * the next login.
   */
  logout(): Promise<void>

  /**
   * Checks the connection at once, and sends what waits. The client calls it when a page becomes
   * visible and when the network returns; on other platforms call it when the app comes to the
   * foreground. Has no effect before `connect()` and after `disconnect()`.
   */
  wake(): void

  /**
   * The user's channels, newest activity first; with a filter those of one type. Each call with the
   * same filter returns the same store.
   *
   * The topics of 500 channels are subscribed to. Of those beyond, names and unread counts arrive
   * on the user's own topic, and a new count brings the last message. What changes no count of the
   * user (an edit of the last message, a message of theirs from another device) is shown once the
   * list is loaded again, as after each reconnect; a room that is watched is always live.
   */
  channels(filter?: ChannelsFilter): ChannelsStore

  /**
   * The room of a channel. Makes no request; each call with the same id returns the same object.
   */
  channel(channelId: string): Room

  /**
   * The direct message with another user; it is created if it does not exist. Rejects with a
   * ChatError: NOT_FOUND if there is no such user.
   */
  dm(userId: string): Promise<Room>

  /** Whether a user is online. */
  presence(userId: string): Store<Presence>

  /**
   * Listens to events of one type, or with `*` to all. Events of a channel come while a list has
   * loaded it or its room is watched. Returns the unsubscribe.
   */
  on<Type extends keyof ChatEvents>(
    type: Type,
    listener: (event: ChatEvents[Type]) => void,
  ): () => void
  on(type: '*', listener: (event: ChatEvent) => void): () => void
}
