import { isOutgoing, type OutboxEntry, type OutgoingEntry } from '../outbox/entry.ts'
import type { Channel, UserSummary } from '../types.ts'
import { type OptimisticUpdate, withUpdates } from './optimistic.ts'
import { quoteOf } from './quotes.ts'
import type { ChannelState, ChatMessage, Timeline } from './state.ts'
import { visibleMessages, windowOf } from './timeline.ts'

/** What is shown beside the server's messages. */
type LocalChanges = {
  updates: readonly OptimisticUpdate[]
  entries: readonly OutboxEntry[]
  me: UserSummary | undefined
}

/**
 * The messages that a timeline shows: the server's, with the user's optimistic updates, and below
 * them those in the outbox. One that the server has stored meanwhile is shown as the server has it.
 */
export function selectMessages(
  state: ChannelState,
  timeline: Timeline,
  { updates, entries, me }: LocalChanges,
): ChatMessage[] {
  const messages = visibleMessages(state, timeline)
    .map((message) => withUpdates(message, updates))
    .filter(({ deletedAt }) => deletedAt === null)
  if (!me) return messages
  const { parentId } = timeline
  const own = entries
    .filter((entry): entry is OutgoingEntry => isOutgoing(entry))
    .filter(({ operation }) => parentId === undefined || operation.parentId === parentId)
  if (own.length === 0) return messages
  const stored = new Map(
    [...state.messages.values()].flatMap((message) =>
      message.userId === me.id && message.clientId ? [[message.clientId, message]] : [],
    ),
  )
  const shown = new Set(messages.map(({ id }) => id))
  const below = own
    .map((entry) => stored.get(entry.operation.clientId) ?? unsentMessage(entry, me, state))
    .map((message) => withUpdates(message, updates))
    .filter(({ id, deletedAt }) => !shown.has(id) && deletedAt === null)
  return [...messages, ...below]
}

const unsentMessages = new WeakMap<object, ChatMessage>()

/** An unsent message as it is shown; the same object until its entry changes. */
export function unsentMessage(
  { operation, error, waiting }: OutgoingEntry,
  me: UserSummary,
  state?: ChannelState,
): ChatMessage {
  const known = unsentMessages.get(operation)
  const quoted = state?.messages.get(operation.quotedMessageId ?? '')
  const isSame =
    known?.error === error &&
    known?.waiting === waiting &&
    known?.userId === me.id &&
    (quoted === undefined || known.quotedMessage?.rev === quoted.rev)
  if (known && isSame) return known
  const { clientId, channelId, text, attachments, parentId = null, createdAt } = operation
  const message: ChatMessage = {
    id: clientId,
    clientId,
    channelId,
    type: 'regular',
    text,
    attachments,
    parentId,
    ...(quoted && { quotedMessage: quoteOf(quoted) }),
    createdAt,
    updatedAt: createdAt,
    userId: me.id,
    user: me,
    seq: Number.POSITIVE_INFINITY,
    rev: 0,
    reactions: [],
    mentions: [],
    replyCount: 0,
    pinned: false,
    editedAt: null,
    deletedAt: null,
    status: error ? 'failed' : 'pending',
    error,
    waiting,
  }
  unsentMessages.set(operation, message)
  return message
}

/** Whether a timeline has messages beyond its window. */
export function selectHasMore(state: ChannelState, timeline: Timeline) {
  const window = windowOf(state, timeline)
  return {
    hasOlder: window !== null && window.from > 0,
    hasNewer: window !== null && window.to !== Number.POSITIVE_INFINITY,
  }
}

/**
 * Whether the user has read everything, by the record and the state of a channel. Their own
 * messages need not be marked: the server counts them as read if everything before them is.
 */
export function isAllRead(
  { reads, messages, mainWindow }: ChannelState,
  { record, me }: { record: Channel | undefined; me: string },
): boolean {
  const position = Math.max(record?.lastReadSeq ?? -1, reads?.[me]?.lastReadSeq ?? -1)
  const isUnread = ({ userId, seq }: ChatMessage) => userId !== me && seq > position
  const hasNewest = mainWindow?.to === Number.POSITIVE_INFINITY
  const isKnown = position >= 0 && hasNewest
  return isKnown && !record?.unreadCount && ![...messages.values()].some(isUnread)
}

/** The newest message that is known; undefined if none is, or newer ones are not loaded. */
export function newestMessageId(
  { messages, mainWindow }: ChannelState,
  record: Channel | undefined,
): string | undefined {
  if (mainWindow?.to !== Number.POSITIVE_INFINITY) return record?.lastMessage?.id
  let newest: ChatMessage | undefined
  for (const message of messages.values()) if (message.seq > (newest?.seq ?? 0)) newest = message
  return newest?.id ?? record?.lastMessage?.id
}
