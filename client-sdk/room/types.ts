import type { MessageEdit } from '../backing-store/storage.ts'
import type { Member, Message, PinnedMessage } from '../generated/types.ts'
import type { Store } from '../shared/store.ts'
import type { RoomInfo } from './info.ts'
import type { Draft, OutgoingMessage } from './outgoing.ts'
import type {
  ListSnapshot,
  PagedStore,
  ReadsSnapshot,
  RoomMessages,
  ThreadSnapshot,
  TypingSnapshot,
} from './stores.ts'

/**
 * A channel as this user sees it: live stores, and what the user can do in it. A store loads when
 * something subscribes to it, and stays up to date until nothing does.
 */
export interface Room {
  /** The channel's id. */
  readonly id: string
  /** The channel's record: name, image, role, counts. NOT_FOUND if there is no such channel. */
  readonly info: Store<RoomInfo>
  /**
   * The newest messages and those loaded by paging, with unsent messages at the end. Replies are
   * among them; `room.messages({ replies: false })` is a store without.
   */
  readonly messages: RoomMessages
  /** The members and their roles. */
  readonly members: Store<ListSnapshot<Member>>
  /** How far each member has read. */
  readonly reads: Store<ReadsSnapshot>
  /** The other users who are typing. */
  readonly typing: Store<TypingSnapshot>
  /** Pinned messages, the newest pin first. */
  readonly pins: Store<ListSnapshot<PinnedMessage>>

  /** The thread below a message. Each call with the same id returns the same store. */
  thread(parentId: string): PagedStore<ThreadSnapshot>

  /**
   * Keeps all stores of this channel live until the returned function is called, also those that
   * nothing subscribes to. Ref-counted.
   */
  watch(): () => void

  /** Sends a message: shown at once, stored exactly once, in order, even across an outage. */
  send(draft: Draft): OutgoingMessage

  /** Sends a failed message again, by its `clientId`. */
  retry(clientId: string): void

  /** Removes an unsent message from the outbox, by its `clientId`. */
  discard(clientId: string): void

  /**
   * Changes the text of the user's own message, its metadata, or both. Like all changes it is shown
   * at once, waits in the outbox while there is no network, and is undone if the server refuses it;
   * the promise resolves once the server has it. CONFLICT if the text was edited elsewhere
   * meanwhile.
   *
   * An edit of a message that failed to send, by its `clientId`, changes what `retry` sends: the
   * promise resolves at once, without the message, which the server does not have.
   */
  edit(messageId: string, change: MessageEdit): Promise<Message>

  /**
   * Deletes the user's own message, up to 15 minutes after it was sent; one that is unsent, by its
   * `clientId`, is not sent at all if it was never tried.
   */
  delete(messageId: string): Promise<void>

  /** Adds a reaction. Idempotent. */
  react(messageId: string, emoji: string): Promise<void>

  /** Removes the user's reaction. Idempotent. */
  unreact(messageId: string, emoji: string): Promise<void>

  /** Pins a message for everyone in the channel. Idempotent. */
  pin(messageId: string): Promise<void>

  /** Removes a pin, whoever set it. Idempotent. */
  unpin(messageId: string): Promise<void>

  /** Call it on each key press: shows the others that the user is typing. Throttled. */
  keystroke(): void

  /**
   * Marks the channel as read: its unread count becomes 0, and the read position moves to the
   * newest message that is known at the call, whenever it is sent; while none is known, to the
   * server's newest one; with an id, to that message. Shown at once, undone if the server refuses
   * it. Throttled; never moves back. Where nothing is unread it makes no call, and for a reader who
   * is not a member at most one, which is refused.
   */
  markRead(messageId?: string): Promise<void>
}
