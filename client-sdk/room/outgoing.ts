import type { Attachment, Message, UserSummary } from '../generated/types.ts'
import { isOutgoing } from '../outbox/entry.ts'
import type { Outbox } from '../outbox/index.ts'
import { newId } from '../shared/platform.ts'
import { unsentMessage } from './selectors.ts'
import type { ChatMessage } from './state.ts'

/** A message to send. */
export type Draft = {
  /** Up to 10,000 characters; may be empty if there are attachments. */
  text: string
  /** Files, by their addresses: up to 30. */
  attachments?: Attachment[] | undefined
  /** The message to reply to, in its thread. */
  parentId?: string | undefined
  /** The message to quote. */
  quotedMessageId?: string | undefined
  /** The application's own fields. */
  custom?: Message['custom']
  /** Identifies it across retries; generated if absent. */
  clientId?: string | undefined
}
/** A message that was passed to `send`. */
export type OutgoingMessage = {
  /**
   * The key of the message: it stays the same once it is stored. Replies, quotes and changes may
   * name the message by it, also later, while the room has the message loaded.
   */
  clientId: string
  /** The message as it is shown now: `pending`, `sent` or `failed`. */
  readonly message: ChatMessage
  /** The server's message; rejects if it is refused or discarded. `retry()` replaces it. */
  readonly sent: Promise<Message>
  /** Sends a failed message again. */
  retry(): void
  /** Removes an unsent message from the outbox. */
  discard(): void
}

type Target = {
  outbox: Outbox
  channelId: string
  me: () => UserSummary
  /** The id of a message that may be named by its `clientId`. */
  idOf: (id: string) => string
}

/** Puts a message into the outbox, unless it is there already, and returns a handle of it. */
export function sendThroughOutbox(
  { text, attachments = [], parentId, quotedMessageId, custom, clientId = newId() }: Draft,
  { outbox, channelId, me, idOf }: Target,
): OutgoingMessage {
  const references = {
    parentId: parentId && idOf(parentId),
    quotedMessageId: quotedMessageId && idOf(quotedMessageId),
  }
  const content = { text, attachments, ...references, custom }
  const outgoing = { ...content, type: 'send' as const, clientId, channelId }
  const entry = outbox.get(clientId) ?? outbox.add(outgoing)
  return {
    clientId,
    get message(): ChatMessage {
      if (entry.message) return { ...entry.message, status: 'sent' }
      if (!isOutgoing(entry)) throw new TypeError(`${clientId} is the key of another operation`)
      return unsentMessage(entry, { me: me(), waiting: outbox.sender.waitingOf(channelId) })
    },
    get sent() {
      return entry.completion.promise as Promise<Message> // the answer of a send
    },
    retry: () => outbox.retry(clientId),
    discard: () => outbox.withdraw(clientId),
  }
}
