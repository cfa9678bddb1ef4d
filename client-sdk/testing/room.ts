import { aborted, ChatError } from '../error.ts'
import { withEdit } from '../outbox/entry.ts'
import { newId } from '../platform.ts'
import type { ChatMessage, Draft, OutgoingMessage, Room } from '../room/index.ts'
import { quoteOf } from '../room/quotes.ts'
import type { MessagesSnapshot, MessagesStore, ThreadSnapshot } from '../room/stores.ts'
import { createStore, type Store } from '../store.ts'
import { createDeferred, type Deferred } from '../timing.ts'
import type { Channel, Member, Message, PinnedMessage, UserSummary } from '../types.ts'

/** A room in memory. Everything in it is loaded, and what the user does takes effect at once. */
export interface FakeRoom extends Room {
  /** A message of another user arrives: by their id or profile. It counts as unread. */
  receive(message: { text: string; from: string | UserSummary; parentId?: string }): Message
  /** Shows these members, and these users as typing. */
  show(parts: { members?: readonly Member[]; typing?: readonly UserSummary[] }): void
  /** Messages are refused with this error from now on; without one they are sent again. */
  refuse(error?: ChatError): void
}

/** The parts that a fake room shares with its client. */
type FakeContext = {
  me: UserSummary
  isOnline: () => boolean
  /** A message is stored; the record of its channel shows it next. */
  onStored: () => void
  onSent: (message: Message) => void
  onChannel: () => void
}
export type RoomParts = { room: FakeRoom; record: () => Channel; flush: () => void }

const TIME = '2026-01-01T00:00:00.000Z'
const failure = (cause: unknown) => console.error(cause)
export const constantly = <Snapshot>(snapshot: Snapshot) =>
  createStore(snapshot, { onError: failure })
export const profileOf = (user: string | UserSummary): UserSummary =>
  typeof user === 'string' ? { id: user, name: user, image: null } : user

/** A room with this record. */
export function createFakeRoom(channel: Channel, context: FakeContext): RoomParts {
  const { me } = context
  const info = constantly({ channel, status: 'ready' as const })
  const all = constantly<readonly ChatMessage[]>([])
  const members = constantly({ items: [] as readonly Member[], status: 'ready' as const })
  const typing = constantly({ items: [] as readonly UserSummary[], status: 'ready' as const })
  const reads = constantly({ byUser: {}, status: 'ready' as const })
  const waiting = new Map<string, Deferred<Message>>()
  let refusal: ChatError | undefined
  let lastSeq = 0

  const update = (changed: Partial<Channel>) => {
    info.set({ ...info.getSnapshot(), channel: { ...record(), ...changed } })
    context.onChannel()
  }
  const record = () => info.getSnapshot().channel
  const find = (id: string) => {
    const found = all.getSnapshot().find((each) => each.id === id || each.clientId === id)
    if (found) return found
    throw new ChatError(`there is no message ${id}`, { code: 'NOT_FOUND', status: 404 })
  }
  const change = (id: string, changed: Partial<ChatMessage>) => {
    const before = find(id)
    all.set(all.getSnapshot().map((each) => (each === before ? { ...each, ...changed } : each)))
  }
  const quote = ({ quotedMessageId }: Draft) => {
    const quoted = all.getSnapshot().find(({ id }) => id === quotedMessageId)
    return quoted && quoteOf(quoted)
  }
  const add = (draft: Draft, user: UserSummary): ChatMessage => {
    lastSeq += 1
    const seq = lastSeq
    const clientId = draft.clientId ?? newId()
    const message: ChatMessage = {
      ...{ id: clientId, clientId, channelId: channel.id, type: 'regular', text: draft.text },
      ...{ userId: user.id, user, seq, rev: seq, status: 'pending', parentId: null },
      ...{ reactions: [], mentions: [], attachments: draft.attachments ?? [], replyCount: 0 },
      ...{ pinned: false, createdAt: TIME, updatedAt: TIME, editedAt: null, deletedAt: null },
      ...(draft.parentId !== undefined && { parentId: draft.parentId }),
      ...(draft.custom !== undefined && { custom: draft.custom }),
      quotedMessage: quote(draft),
    }
    all.set([...all.getSnapshot(), message])
    return message
  }
  const store = (clientId: string): Message => {
    change(clientId, { id: `message-${find(clientId).seq}`, status: 'sent', error: undefined })
    const { status: _, error: __, waiting: ___, ...message } = find(clientId)
    const root = all.getSnapshot().find((each) => each.id === message.parentId)
    if (root) change(root.id, { replyCount: root.replyCount + 1 })
    context.onStored()
    update({ lastMessage: message })
    context.onSent(message)
    return message
  }
  const attempt = (clientId: string) => {
    const sent = waiting.get(clientId)
    if (!sent || !context.isOnline()) return
    waiting.delete(clientId)
    if (!refusal) return sent.resolve(store(clientId))
    change(clientId, { status: 'failed', error: refusal })
    sent.reject(refusal)
  }
  const start = (clientId: string) => {
    change(clientId, { status: 'pending', error: undefined })
    const sent = createDeferred<Message>()
    waiting.set(clientId, sent)
    attempt(clientId)
    return sent.promise
  }
  const statusOf = (clientId: string) =>
    all.getSnapshot().find((each) => each.clientId === clientId)?.status
  const retry = (clientId: string) =>
    statusOf(clientId) === 'failed' ? start(clientId) : undefined
  const discard = (clientId: string) => {
    if (statusOf(clientId) === 'sent') return
    all.set(all.getSnapshot().filter((each) => each.clientId !== clientId))
    waiting.get(clientId)?.reject(aborted('discarded'))
    waiting.delete(clientId)
  }
  const send = (draft: Draft): OutgoingMessage => {
    const { clientId } = { clientId: newId(), ...draft }
    add({ ...draft, clientId }, me)
    let sent = start(clientId)
    return {
      clientId,
      get message() {
        return find(clientId)
      },
      get sent() {
        return sent
      },
      retry: () => {
        sent = retry(clientId) ?? sent
      },
      discard: () => discard(clientId),
    }
  }
  const react = (id: string, emoji: string, isOwn: boolean) => {
    const others = find(id).reactions.filter(({ type }) => type !== emoji)
    const reaction = { type: emoji, count: 1, own: isOwn, users: [me] }
    change(id, { reactions: isOwn ? [...others, reaction] : others })
  }
  const timeline = (isShown: (message: ChatMessage) => boolean): MessagesStore => ({
    ...derived(all, (messages): MessagesSnapshot => {
      const items = messages.filter((each) => each.deletedAt === null && isShown(each))
      return { items, hasOlder: false, hasNewer: false, status: 'ready' }
    }),
    loadOlder: async () => {},
    loadNewer: async () => {},
    jumpTo: async (id) => void find(id),
    jumpToLatest: async () => {},
  })
  const everything = timeline(() => true)
  const roots = timeline(({ parentId }) => parentId === null)
  const threads = new Map<string, ReturnType<Room['thread']>>()
  const threadOf = (id: string) => {
    const replies = timeline(({ parentId }) => parentId === id)
    const complete = (snapshot: MessagesSnapshot): ThreadSnapshot => ({
      ...snapshot,
      parent: all.getSnapshot().find((each) => each.id === id),
    })
    return { ...replies, ...derived(replies, complete) }
  }
  const room: FakeRoom = {
    id: channel.id,
    info,
    messages: Object.assign(
      ({ replies = true }: { replies?: boolean } = {}) => (replies ? everything : roots),
      everything,
    ),
    members,
    reads,
    typing,
    pins: derived(all, (messages) => {
      const pinned = messages.filter((each) => each.pinned)
      const items = pinned.map(
        (each): PinnedMessage => ({
          ...each,
          pinnedBy: me.id,
          pinnedAt: TIME,
        }),
      )
      return { items, status: 'ready' as const }
    }),
    thread: (id) => {
      const thread = threads.get(id) ?? threadOf(id)
      threads.set(id, thread)
      return thread
    },
    watch: () => () => {},
    send,
    retry: (clientId) => void retry(clientId),
    discard,
    edit: async (id, edit) => {
      const editedAt = edit.text === undefined ? find(id).editedAt : TIME
      change(id, { ...withEdit(find(id), edit), editedAt })
      return find(id)
    },
    delete: async (id) => {
      if (find(id).status !== 'sent') discard(id)
      else change(id, { text: '', deletedAt: TIME, pinned: false })
    },
    react: async (id, emoji) => react(id, emoji, true),
    unreact: async (id, emoji) => react(id, emoji, false),
    pin: async (id) => change(id, { pinned: true }),
    unpin: async (id) => change(id, { pinned: false }),
    keystroke: () => {},
    markRead: async () => update({ unreadCount: 0 }),
    receive: ({ from, ...draft }) => {
      update({ unreadCount: record().unreadCount + 1 })
      return store(add(draft, profileOf(from)).id)
    },
    show: (parts) => {
      if (parts.members) members.set({ items: parts.members, status: 'ready' })
      if (parts.typing) typing.set({ items: parts.typing, status: 'ready' })
    },
    refuse: (error) => {
      refusal = error
    },
  }
  return { room, record, flush: () => [...waiting.keys()].forEach(attempt) }
}

/** A store computed from another; the same object until that changes. */
export function derived<From, To>(from: Store<From>, compute: (value: From) => To): Store<To> {
  let last: { from: From; to: To } | undefined
  return {
    subscribe: from.subscribe,
    getSnapshot: () => {
      const value = from.getSnapshot()
      if (!last || last.from !== value) last = { from: value, to: compute(value) }
      return last.to
    },
  }
}
