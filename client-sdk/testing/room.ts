import type { MessageEdit } from '../backing-store/storage.ts'
import { aborted, type ChatError, loggedOut } from '../calls/error.ts'
import type { Channel, Member, Message, PinnedMessage, UserSummary } from '../generated/types.ts'
import { withEdit } from '../outbox/entry.ts'
import type { ChatMessage, Draft, OutgoingMessage, Room } from '../room/index.ts'
import type { MessagesSnapshot, ReadsSnapshot, ThreadSnapshot } from '../room/stores.ts'
import { newId } from '../shared/platform.ts'
import { createDeferred, type Deferred } from '../shared/timing.ts'
import { createMessages, TIME } from './messages.ts'
import { constantly, derived } from './stores.ts'

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
  /** The user has logged out. */
  isEnded: () => boolean
  /** A message is stored; the record of its channel shows it next. */
  onStored: () => void
  onSent: (message: Message) => void
  onChannel: () => void
}
/** A message that the user has sent; a retry replaces its answer. It may be edited before. */
type Entry = { sent: Deferred<Message>; isEdited?: boolean }
export type FakeRoomParts = {
  room: FakeRoom
  record: () => Channel
  /** Sends what waits. */
  flush: () => void
  /** Discards what is unsent. */
  clear: () => void
}

export const profileOf = (user: string | UserSummary): UserSummary =>
  typeof user === 'string' ? { id: user, name: user, image: null } : user

/** A room with this record. */
export function createFakeRoom(channel: Channel, context: FakeContext): FakeRoomParts {
  const { me } = context
  const info = constantly({ channel, status: 'ready' as const })
  const messages = createMessages(channel.id, { lastSeq: channel.lastMessage?.seq })
  const members = constantly({ items: [] as readonly Member[], status: 'ready' as const })
  const typing = constantly({ items: [] as readonly UserSummary[], status: 'ready' as const })
  const reads = constantly<ReadsSnapshot>({ byUser: {}, status: 'ready' })
  /** The messages that the user has sent, by their keys, with the answer to the last attempt. */
  const entries = new Map<string, Entry>()
  /** Those that wait to be sent, in their order. */
  const waiting = new Set<string>()
  /** The keys of messages that were pinned, the latest pin last. */
  const pinned = new Set<string | null>()
  let refusal: ChatError | undefined

  const record = () => info.getSnapshot().channel
  const update = (changed: Partial<Channel>) => {
    info.set({ ...info.getSnapshot(), channel: { ...record(), ...changed } })
    context.onChannel()
  }
  const change = (id: string, changed: Partial<ChatMessage>) => {
    messages.change(id, changed)
    update({ lastMessage: messages.newest() ?? channel.lastMessage })
  }
  const store = (clientId: string): Message => {
    const message = messages.store(clientId)
    context.onStored()
    update({ lastMessage: message })
    context.onSent(message)
    // The server is sent the message as it was written, and its edit afterwards.
    if (entries.get(clientId)?.isEdited) change(message.id, { editedAt: TIME })
    return message
  }
  const attempt = (clientId: string) => {
    if (!waiting.has(clientId) || !context.isOnline()) return
    waiting.delete(clientId)
    const sent = entries.get(clientId)?.sent
    const error = messages.refusalOf(clientId) ?? refusal
    if (!error) return sent?.resolve(store(clientId))
    messages.change(clientId, { status: 'failed', error })
    sent?.reject(error)
  }
  /** Puts a message, whose id is its key while it is unsent, at the end of those that wait. */
  const start = (message: ChatMessage) => {
    messages.put({ ...message, status: 'pending', error: undefined })
    waiting.add(message.id)
    attempt(message.id)
  }
  const retry = (clientId: string) => {
    const entry = entries.get(clientId)
    const message = messages.known(clientId)
    if (!entry || message?.status !== 'failed') return
    entry.sent = createDeferred()
    start(message)
  }
  const discard = (clientId: string) => {
    const entry = entries.get(clientId)
    if (!entry || messages.known(clientId)?.status === 'sent') return
    messages.remove(clientId)
    waiting.delete(clientId)
    entries.delete(clientId)
    entry.sent.reject(aborted('discarded'))
  }
  const enter = (message: ChatMessage): Entry => {
    const entry: Entry = { sent: createDeferred() }
    if (context.isEnded()) entry.sent.reject(loggedOut())
    else {
      entries.set(message.id, entry)
      start(message)
    }
    return entry
  }
  const send = (draft: Draft): OutgoingMessage => {
    const clientId = draft.clientId ?? newId()
    const message = messages.draw({ ...draft, clientId }, me)
    const known = context.isEnded() ? undefined : entries.get(clientId)
    const entry = known ?? enter(message)
    return {
      clientId,
      get message() {
        return messages.known(clientId) ?? message
      },
      get sent() {
        return entry.sent.promise
      },
      retry: () => retry(clientId),
      discard: () => discard(clientId),
    }
  }
  /** What goes to the outbox, which ends when the user logs out. */
  const queued =
    <Given extends unknown[], Result>(act: (...given: Given) => Result) =>
    async (...given: Given): Promise<Result> => {
      if (context.isEnded()) throw loggedOut()
      return act(...given)
    }
  const react = (id: string, given: string, isOwn: boolean) => {
    const emoji = given.normalize('NFC')
    const others = messages.find(id).reactions.filter(({ type }) => type !== emoji)
    const reaction = { type: emoji, count: 1, own: isOwn, users: [me] }
    change(id, { reactions: isOwn ? [...others, reaction] : others })
  }
  const remove = (id: string) => {
    const { parentId, status, deletedAt } = messages.find(id)
    if (status !== 'sent') return discard(id)
    const root = messages.known(parentId)
    if (root && deletedAt === null) messages.change(root.id, { replyCount: root.replyCount - 1 })
    change(id, { text: '', attachments: [], deletedAt: TIME, pinned: false })
  }
  const pin = (id: string, isOn: boolean) => {
    const before = messages.find(id)
    if (before.pinned === isOn) return
    pinned.delete(before.clientId)
    if (isOn) pinned.add(before.clientId)
    change(id, { pinned: isOn })
  }
  const markRead = (id?: string) => {
    const newest = messages.newestSeq()
    const seq = id === undefined ? newest : Math.min(messages.find(id).seq, newest)
    const lastReadSeq = Math.max(record().lastReadSeq, seq)
    update({ lastReadSeq, unreadCount: messages.unreadAfter(lastReadSeq, me.id) })
    const { byUser } = reads.getSnapshot()
    const own = { lastReadSeq, readAt: TIME }
    reads.set({ byUser: { ...byUser, [me.id]: own }, status: 'ready' })
  }
  const { timeline } = messages
  const everything = timeline(() => true)
  const roots = timeline(({ parentId }) => parentId === null)
  const threads = new Map<string, ReturnType<Room['thread']>>()
  const threadOf = (id: string) => {
    const replies = timeline(({ parentId }) => parentId === id)
    const complete = (snapshot: MessagesSnapshot): ThreadSnapshot => ({
      ...snapshot,
      parent: messages.all.getSnapshot().find((each) => each.id === id),
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
    pins: derived(messages.all, (all) => {
      const items = [...pinned]
        .flatMap((key) => all.find((each) => each.clientId === key && each.pinned) ?? [])
        .reverse()
        .map((each): PinnedMessage => ({ ...each, pinnedBy: me.id, pinnedAt: TIME }))
      return { items, status: 'ready' as const }
    }),
    thread: (id) => {
      const thread = threads.get(id) ?? threadOf(id)
      threads.set(id, thread)
      return thread
    },
    watch: () => () => {},
    send,
    retry,
    discard,
    edit: queued((id: string, edit: MessageEdit) => {
      const before = messages.find(id)
      const unsent = entries.get(before.id)
      const isEdited = edit.text !== undefined
      if (unsent && isEdited) unsent.isEdited = true
      const editedAt = isEdited && !unsent ? TIME : before.editedAt
      change(id, { ...withEdit(before, edit), editedAt })
      return messages.find(id)
    }),
    delete: queued(remove),
    react: queued((id: string, emoji: string) => react(id, emoji, true)),
    unreact: queued((id: string, emoji: string) => react(id, emoji, false)),
    pin: queued((id: string) => pin(id, true)),
    unpin: queued((id: string) => pin(id, false)),
    keystroke: () => {},
    markRead: async (id) => {
      // Where nothing is unread there is nothing to send.
      if (record().unreadCount > 0) await queued(markRead)(id)
    },
    receive: ({ from, ...draft }) => {
      update({ unreadCount: record().unreadCount + 1 })
      const clientId = newId()
      messages.put(messages.draw({ ...draft, clientId }, profileOf(from)))
      return store(clientId)
    },
    show: (parts) => {
      if (parts.members) members.set({ items: parts.members, status: 'ready' })
      if (parts.typing) typing.set({ items: parts.typing, status: 'ready' })
    },
    refuse: (error) => {
      refusal = error
    },
  }
  return {
    room,
    record,
    flush: () => [...waiting].forEach(attempt),
    clear: () => messages.unsent().forEach(discard),
  }
}
