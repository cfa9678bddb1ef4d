import type { ChatError } from '../error.ts'
import type {
  ChannelEvents,
  Member,
  Message,
  PinnedMessage,
  Reaction,
  UserSummary,
} from '../types.ts'

/** A message as an application shows it: what the server has, or what is still on its way there. */
export interface ChatMessage extends Message {
  /** `pending` until the server has it; `failed` once it refused it. A pending message has its `clientId` as `id`. */
  status: 'sent' | 'pending' | 'failed'
  /** Why it failed. */
  error?: ChatError | undefined
}

/** How far a member has read. */
export type ReadPosition = {
  lastReadSeq: number
  /** When the position was reached, as far as it is known. */
  readAt: string | null
}

/** A stretch of messages that is known without holes, by seq; `to` is Infinity at the live end. */
export type Range = { from: number; to: number }

/**
 * What is known of a channel. `messages` are facts: each is kept up to date from the moment it is known, tombstones
 * included; ranges say which of them are shown. Members, reads and pins are null until they are loaded.
 */
export type ChannelState = {
  rev: number
  messages: ReadonlyMap<string, ChatMessage>
  main: Range | null
  threads: ReadonlyMap<string, Range>
  members: ReadonlyMap<string, Member> | null
  reads: Readonly<Record<string, ReadPosition>> | null
  pins: readonly PinnedMessage[] | null
  /** A message was pinned, by whom is not known yet. */
  arePinsStale: boolean
  typing: readonly UserSummary[]
}

export const unknown: ChannelState = {
  rev: 0,
  messages: new Map(),
  main: null,
  threads: new Map(),
  members: null,
  reads: null,
  pins: null,
  arePinsStale: false,
  typing: [],
}

export type Payload<Type extends keyof ChannelEvents> = ChannelEvents[Type]
/** An event of the channel's topic. Durable ones have the rev of the change they tell of. */
export type TopicEvent = {
  [Type in keyof ChannelEvents]: {
    type: Type
    payload: ChannelEvents[Type]
    rev: number | undefined
  }
}[keyof ChannelEvents]

/** The state after an event. What is already known, by its rev, changes nothing. */
export function applyEvent(before: ChannelState, event: TopicEvent, me: string): ChannelState {
  // Only of what is heard as it happens is it known whether its author had read everything until then.
  const state = event.type === 'message.new' ? readOwn(before, event.payload.message) : before
  return applyLate(state, event, me)
}

/** The same of an event that may be older than what was loaded. */
export function applyLate(state: ChannelState, event: TopicEvent, me: string): ChannelState {
  const next = reduce(state, event, me)
  return event.rev !== undefined && event.rev > next.rev ? { ...next, rev: event.rev } : next
}

function reduce(state: ChannelState, event: TopicEvent, me: string): ChannelState {
  const rev = event.rev ?? 0
  switch (event.type) {
    case 'message.new': {
      const { message, parent } = event.payload
      return stopTyping(withParent(learn(state, [message]), parent, rev), message.userId)
    }
    case 'message.updated':
      return change(state, event.payload.message.id, rev, (fact) => ({
        ...toFact(event.payload.message),
        reactions: withOwn(event.payload.message.reactions, fact.reactions),
      }))
    case 'message.deleted': {
      const { messageId, deletedAt, parent } = event.payload
      return withParent(
        change(state, messageId, rev, (fact) => bury(fact, deletedAt)),
        parent,
        rev,
      )
    }
    case 'reaction.added':
    case 'reaction.removed': {
      const { messageId, reaction, reactions } = event.payload
      const own = reaction.userId === me ? { [reaction.type]: event.type === 'reaction.added' } : {}
      return change(state, messageId, rev, (fact) => ({
        ...fact,
        rev,
        reactions: withOwn(reactions, fact.reactions, own),
      }))
    }
    case 'channel.member_joined':
    case 'channel.member_updated':
      return arrive(state, event.payload, event.type === 'channel.member_joined')
    case 'channel.member_left':
      return leave(state, event.payload.userId)
    case 'typing.start':
      return event.payload.userId === me
        ? state
        : { ...state, typing: [...without(state.typing, event.payload.userId), event.payload.user] }
    case 'typing.stop':
      return stopTyping(state, event.payload.userId)
    case 'read.updated':
      return read(state, event.payload.userId, {
        lastReadSeq: event.payload.lastReadSeq,
        readAt: event.payload.readAt,
      })
    default:
      return state
  }
}

/** Takes in messages as the server gave them to this user; newer ones win. */
export function learn(state: ChannelState, messages: readonly Message[]): ChannelState {
  const news = messages.filter(
    (message) => message.rev >= (state.messages.get(message.id)?.rev ?? 0),
  )
  if (news.length === 0) return state
  const known = new Map(state.messages)
  for (const message of news) {
    const before = known.get(message.id)
    known.set(message.id, before && isSame(before, message) ? before : toFact(message))
  }
  return notePins({ ...state, messages: known }, news, true)
}

/** A message of an equal rev may still differ: in names, and in what this user does not see in broadcasts. */
const isSame = (fact: ChatMessage, message: Message) =>
  JSON.stringify(toFact(message)) === JSON.stringify(fact)
const toFact = (message: Message): ChatMessage => ({ ...message, status: 'sent' })

function change(
  state: ChannelState,
  id: string,
  rev: number,
  alter: (fact: ChatMessage) => ChatMessage,
): ChannelState {
  const fact = state.messages.get(id)
  if (!fact || fact.rev >= rev) return state
  const changed = { ...alter(fact), rev }
  return notePins({ ...state, messages: new Map(state.messages).set(id, changed) }, [changed])
}

/** What of a message stays when it is deleted. */
const bury = (fact: ChatMessage, deletedAt: string): ChatMessage => {
  const { linkPreviews: _, ...rest } = fact
  return {
    ...rest,
    text: '',
    attachments: [],
    mentions: [],
    reactions: [],
    pinned: false,
    deletedAt,
    updatedAt: deletedAt,
  }
}

const withParent = (
  state: ChannelState,
  parent: { id: string; replyCount: number } | undefined,
  rev: number,
) =>
  parent
    ? change(state, parent.id, rev, (fact) => ({ ...fact, replyCount: parent.replyCount }))
    : state

/** Whose reaction is one's own is derived, never told: it stays as it was, but for the one that was just made. */
const withOwn = (
  reactions: readonly Reaction[],
  before: readonly Reaction[],
  changed: Record<string, boolean> = {},
) =>
  reactions.map((reaction) => ({
    ...reaction,
    own: changed[reaction.type] ?? before.some(({ type, own }) => own && type === reaction.type),
  }))

/** Pinned messages follow their messages; one that was pinned just now has to be asked for. */
function notePins(state: ChannelState, changed: readonly Message[], isRead = false): ChannelState {
  const { pins } = state
  if (!pins) return state
  const facts = new Map(changed.map((message) => [message.id, message]))
  // Between what was read and what was known before, it may have been unpinned and pinned by somebody else.
  const isNews = changed.some(
    ({ id, pinned, deletedAt, rev }) =>
      pinned && !deletedAt && !pins.some((pin) => pin.id === id && (!isRead || pin.rev >= rev)),
  )
  if (!isNews && !pins.some(({ id }) => facts.has(id))) return state
  const followed = pins.flatMap((pin) => {
    const fact = facts.get(pin.id)
    if (!fact || fact.rev < pin.rev) return [pin]
    return fact.pinned ? [{ ...fact, pinnedBy: pin.pinnedBy, pinnedAt: pin.pinnedAt }] : []
  })
  return { ...state, pins: followed, arePinsStale: state.arePinsStale || isNews }
}

/** One's own message counts as read only by somebody who had read everything before it; the server's rule. */
function readOwn(state: ChannelState, { userId, seq }: Message) {
  return state.reads?.[userId]?.lastReadSeq === seq - 1
    ? read(state, userId, { lastReadSeq: seq, readAt: null })
    : state
}

function read(state: ChannelState, userId: string, position: ReadPosition): ChannelState {
  const known = state.reads?.[userId]
  if (!state.reads || (known && known.lastReadSeq >= position.lastReadSeq)) return state
  return { ...state, reads: { ...state.reads, [userId]: position } }
}

function arrive(
  state: ChannelState,
  { userId, user, role }: Payload<'channel.member_joined'>,
  isNew: boolean,
): ChannelState {
  const known = state.members?.get(userId)
  const member = { userId, user, role, joinedAt: known?.joinedAt ?? new Date().toISOString() }
  const members = state.members && new Map(state.members).set(userId, member)
  return {
    ...state,
    members,
    reads:
      isNew && state.reads
        ? { [userId]: { lastReadSeq: 0, readAt: null }, ...state.reads }
        : state.reads,
  }
}

function leave(state: ChannelState, userId: string): ChannelState {
  const { [userId]: _, ...reads } = state.reads ?? {}
  const members = state.members && new Map([...state.members].filter(([id]) => id !== userId))
  return { ...stopTyping(state, userId), members, reads: state.reads && reads }
}

const stopTyping = (state: ChannelState, userId: string) =>
  state.typing.some(({ id }) => id === userId)
    ? { ...state, typing: without(state.typing, userId) }
    : state
const without = (users: readonly UserSummary[], id: string) =>
  users.filter((user) => user.id !== id)
