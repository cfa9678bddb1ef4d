import { ChatError } from '../calls/error.ts'
import type { Message, UserSummary } from '../generated/types.ts'
import type { ChatMessage, Draft } from '../room/index.ts'
import { quoteOf } from '../room/quotes.ts'
import type { MessagesSnapshot, MessagesStore } from '../room/stores.ts'
import { constantly, derived } from './stores.ts'

/** When everything in a fake room happens. */
export const TIME = '2026-01-01T00:00:00.000Z'

/** The messages of a fake room: those that are stored in their order, and below them the unsent. */
export function createMessages(channelId: string, { lastSeq = 0 }: { lastSeq?: number }) {
  const all = constantly<readonly ChatMessage[]>([])
  let newestSeq = lastSeq

  const known = (id: string | null | undefined) =>
    all.getSnapshot().find((each) => each.id === id || each.clientId === id)
  const find = (id: string) => {
    const found = known(id)
    if (found) return found
    throw new ChatError(`there is no message ${id}`, { code: 'NOT_FOUND', status: 404 })
  }
  /** Puts a message in the place of `before`, and into the quotes of it. */
  const replace = (before: ChatMessage, message: ChatMessage) => {
    const replaced = (each: ChatMessage) => {
      if (each === before) return message
      return each.quotedMessage?.id === before.id
        ? { ...each, quotedMessage: quoteOf(message) }
        : each
    }
    all.set(all.getSnapshot().map(replaced))
  }
  const change = (id: string, changed: Partial<ChatMessage>) => {
    const before = find(id)
    replace(before, { ...before, ...changed })
  }
  const without = (id: string) => all.getSnapshot().filter((each) => each.id !== id)
  /**
   * Puts a message at the end of those that are unsent, or of those that are stored, and takes it
   * from where it was.
   */
  const put = (message: ChatMessage) => {
    const others = without(message.id)
    if (!isStored(message)) return all.set([...others, message])
    const unsent = others.filter((each) => !isStored(each))
    all.set([...others.filter(isStored), message, ...unsent])
  }
  return {
    all,
    known,
    find,
    change,
    put,
    remove: (id: string) => all.set(without(id)),
    /** The keys of those that are unsent. */
    unsent: () =>
      all
        .getSnapshot()
        .filter((each) => !isStored(each))
        .map(({ id }) => id),
    newestSeq: () => newestSeq,
    /** Why the server refuses an unsent message. */
    refusalOf: (clientId: string) =>
      find(clientId).quotedMessage?.deletedAt
        ? new ChatError('Quoted message not found', { code: 'NOT_FOUND', status: 404 })
        : undefined,
    /** Stores an unsent message, whose id is its key, after all that are stored. */
    store: (clientId: string): Message => {
      newestSeq += 1
      const seq = newestSeq
      const before = find(clientId)
      // A reply may have been written when what it replies to was unsent, or to another reply.
      const parent = known(before.parentId)
      const parentId = parent?.parentId ?? parent?.id ?? before.parentId
      const stored = { ...before, id: `message-${seq}`, parentId, seq, rev: seq }
      replace(before, { ...stored, status: 'sent', error: undefined })
      put(find(stored.id))
      const root = known(parentId)
      if (root) change(root.id, { replyCount: root.replyCount + 1 })
      return messageOf(find(stored.id))
    },
    /** The newest message that is stored and not deleted. */
    newest: (): Message | undefined => {
      const newest = all.getSnapshot().findLast((each) => isStored(each) && !each.deletedAt)
      return newest && messageOf(newest)
    },
    /** How many messages of others come after one. */
    unreadAfter: (seq: number, me: string) =>
      all
        .getSnapshot()
        .filter((each) => isStored(each) && each.seq > seq)
        .filter(({ userId, deletedAt }) => userId !== me && deletedAt === null).length,
    /** A message that is not stored yet, as it is shown. */
    draw: (draft: Draft & { clientId: string }, user: UserSummary): ChatMessage => {
      const { clientId, text, attachments = [], parentId = null, custom } = draft
      const quoted = known(draft.quotedMessageId)
      return {
        ...{ id: clientId, clientId, channelId, type: 'regular', text, attachments, parentId },
        ...{ userId: user.id, user, seq: Number.POSITIVE_INFINITY, rev: 0, status: 'pending' },
        ...{ reactions: [], mentions: [], replyCount: 0, pinned: false },
        ...{ createdAt: TIME, updatedAt: TIME, editedAt: null, deletedAt: null },
        ...(custom !== undefined && { custom }),
        quotedMessage: quoted && quoteOf(quoted),
      }
    },
    timeline: (isShown: (message: ChatMessage) => boolean): MessagesStore => ({
      ...derived(all, (messages): MessagesSnapshot => {
        const items = messages.filter((each) => each.deletedAt === null && isShown(each))
        return { items, hasOlder: false, hasNewer: false, status: 'ready' }
      }),
      loadOlder: async () => {},
      loadNewer: async () => {},
      jumpTo: async (id) => void find(id),
      jumpToLatest: async () => {},
    }),
  }
}

const isStored = ({ status }: ChatMessage) => status === 'sent'

const messageOf = ({ status: _, error: __, waiting: ___, ...message }: ChatMessage): Message =>
  message
