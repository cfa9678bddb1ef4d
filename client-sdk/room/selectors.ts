import type { Outgoing } from '../backing-store/storage.ts'
import type { Channel, Message, UserSummary } from '../generated/types.ts'
import { isOutgoing, type OutboxEntry, type OutgoingEntry } from '../outbox/entry.ts'
import { memoize } from '../shared/equality.ts'
import { type OptimisticUpdate, withUpdates } from './optimistic.ts'
import { lowerBound } from './ordered.ts'
import { quoteOf } from './quotes.ts'
import type { ChannelState, ChatMessage, Timeline } from './state.ts'
import { append, isShown, visibleMessages, windowOf } from './timeline.ts'

/** The user's own changes, shown beside the server's messages. */
type LocalChanges = {
  updates: readonly OptimisticUpdate[]
  queued: readonly OutboxEntry[]
  /** Why those that are queued wait. */
  waiting: ChatMessage['waiting']
  me: UserSummary | undefined
}

/**
 * The messages that a timeline shows: the server's, with the user's optimistic updates, and below
 * them those in the outbox. One that the server has stored meanwhile is shown as the server has it.
 */
export function selectMessages(
  state: ChannelState,
  timeline: Timeline,
  { updates, queued, waiting, me }: LocalChanges,
): readonly ChatMessage[] {
  const messages = updatedMessages(visibleMessages(state, timeline), { state, updates, me })
  if (!me) return messages
  const { parentId, replies } = timeline
  const own = queued
    .filter(isOutgoing)
    .filter(({ op }) =>
      replies === false
        ? op.parentId === undefined
        : parentId === undefined || op.parentId === parentId,
    )
  const below = own
    .map(
      (entry) =>
        state.messages.ofClient(me.id, entry.op.clientId) ??
        unsentMessage(entry, { waiting, me, state }),
    )
    .filter((message) => message.status !== 'sent' || !isShown(state, timeline, message))
    .map((message) => withUpdates(message, updates))
    .filter(({ deletedAt }) => deletedAt === null)
  return append(messages, below)
}

type Updates = Pick<LocalChanges, 'updates' | 'me'> & { state: ChannelState }

/** Looks only at the messages that the user has changed. */
const updatedMessages = /* @__PURE__ */ memoize(
  (messages: readonly ChatMessage[], { state, updates, me }: Updates) => {
    if (updates.length === 0) return messages
    const changed = [...messages]
    let hasDeleted = false
    for (const messageId of new Set(updates.map((update) => update.messageId))) {
      // A change of a then unsent message has its key until the answer comes.
      const message =
        state.messages.get(messageId) ?? state.messages.ofClient(me?.id ?? '', messageId)
      const index = message ? lowerBound(messages, message.seq) : -1
      if (!message || messages[index]?.id !== message.id) continue
      changed[index] = withUpdates(message, updates)
      hasDeleted ||= changed[index].deletedAt !== null
    }
    return hasDeleted ? changed.filter(({ deletedAt }) => deletedAt === null) : changed
  },
  (before, { updates }) => before.updates === updates,
)

/** An unsent message as it is shown; the same object until its entry changes. */
export function unsentMessage(
  { op, error }: OutgoingEntry,
  { waiting, me, state }: Shown,
): ChatMessage {
  const quoted = state?.messages.get(op.quotedMessageId ?? '')
  return unsent(op, { error, waiting: error ? undefined : waiting, me, quoted })
}

type Shown = Pick<ChatMessage, 'waiting'> & { me: UserSummary; state?: ChannelState }
type Unsent = Pick<ChatMessage, 'error' | 'waiting'> & {
  me: UserSummary
  quoted: ChatMessage | undefined
}

const unsent = /* @__PURE__ */ memoize(
  (op: Outgoing, { error, waiting, me, quoted }: Unsent): ChatMessage => {
    const { clientId, channelId, text, attachments, parentId = null, custom, createdAt } = op
    return {
      id: clientId,
      clientId,
      channelId,
      type: 'regular',
      text,
      attachments,
      parentId,
      ...(quoted && { quotedMessage: quoteOf(quoted) }),
      custom,
      createdAt,
      updatedAt: createdAt,
      user: me,
      userId: me.id,
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
  },
  (before, { error, waiting, me, quoted }) =>
    before.error === error &&
    before.waiting === waiting &&
    before.me.name === me.name &&
    before.me.image === me.image &&
    (quoted === undefined || before.quoted?.rev === quoted.rev),
)

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
  const isUnread = ({ userId }: ChatMessage) => userId !== me
  const hasNewest = mainWindow?.to === Number.POSITIVE_INFINITY
  const isKnown = position >= 0 && hasNewest
  const newer = messages.range(position + 1, Number.POSITIVE_INFINITY)
  return isKnown && !record?.unreadCount && !newer.flat().some(isUnread)
}

/**
 * The newest message that is known; undefined if none is, or newer ones are not loaded. A list
 * receives more than a room that was left, or is shown from a snapshot.
 */
export function newestMessage(
  { messages, mainWindow }: ChannelState,
  record: Channel | undefined,
): Message | undefined {
  const loaded = mainWindow?.to === Number.POSITIVE_INFINITY ? messages.last : undefined
  const listed = record?.lastMessage ?? undefined
  return (loaded?.seq ?? 0) > (listed?.seq ?? 0) ? loaded : listed
}
