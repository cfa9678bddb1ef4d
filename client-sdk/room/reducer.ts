import type { ChannelEvents, Message, Reaction } from '../generated/types.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { isDeepEqual } from '../shared/equality.ts'
import { applyDelta, keepGrown, spliceEarly } from './growing.ts'
import { addPin, updatePins } from './pins.ts'
import { changeIn, updateQuotes } from './quotes.ts'
import { type ChannelState, type ChatMessage, type ReadPosition, toChatMessage } from './state.ts'

/** The state after an event. One that is already included, by its rev, changes nothing. */
export function applyEvent(state: ChannelState, event: ChannelEvent, me: string): ChannelState {
  const next = updateQuotes(state, reduce(state, event, me), changeIn(event))
  return event.rev !== undefined && event.rev > next.rev ? { ...next, rev: event.rev } : next
}

const FROM_EVENT = { areFetched: false }

function reduce(state: ChannelState, event: ChannelEvent, me: string): ChannelState {
  const rev = event.rev ?? 0
  switch (event.type) {
    case 'message.new': {
      const { message, parent, authorLastReadSeq: lastReadSeq } = event.payload
      const stored = upsertMessages(state, [message])
      const next =
        lastReadSeq === undefined
          ? stored
          : advanceRead(stored, message.userId, { lastReadSeq, readAt: null })
      return stopTyping(updateReplyCount(next, parent, rev), message.userId)
    }
    case 'message.updated': {
      const { message, pin } = event.payload
      const pinned = pin ? addPin(state, message, pin) : state
      // A message that was not loaded may have been pinned.
      if (!pinned.messages.get(message.id)) return updatePins(pinned, [message], FROM_EVENT)
      const updated = updateMessage(pinned, { id: message.id, rev }, (before) => ({
        ...keepGrown(toChatMessage(message), before),
        reactions: withOwn(message.reactions, before.reactions),
      }))
      return spliceEarly(updated)
    }
    case 'message.delta':
      return applyDelta(state, event.payload)
    case 'message.deleted': {
      const { messageId, deletedAt, parent } = event.payload
      const next = updateMessage(state, { id: messageId, rev }, (before) =>
        toTombstone(before, deletedAt),
      )
      return updateReplyCount(next, parent, rev)
    }
    case 'reaction.added':
    case 'reaction.removed': {
      const { messageId, reaction, reactions } = event.payload
      const own = reaction.userId === me ? { [reaction.type]: event.type === 'reaction.added' } : {}
      return updateMessage(state, { id: messageId, rev }, (before) => ({
        ...before,
        reactions: withOwn(reactions, before.reactions, own),
      }))
    }
    case 'channel.member_joined':
      return addReadPosition(putMember(state, event.payload), event.payload.userId)
    case 'channel.member_updated':
      return putMember(state, event.payload)
    case 'channel.member_left':
      return removeMember(state, event.payload.userId)
    case 'typing.start': {
      const { userId, user } = event.payload
      return userId === me
        ? state
        : { ...state, typing: [...state.typing.filter(({ id }) => id !== userId), user] }
    }
    case 'typing.stop':
      return stopTyping(state, event.payload.userId)
    case 'read.updated': {
      const { userId, lastReadSeq, readAt } = event.payload
      return advanceRead(state, userId, { lastReadSeq, readAt })
    }
    default:
      return state
  }
}

/**
 * Puts messages as the server returned them to this user into the state; older copies are ignored.
 */
export function upsertMessages(state: ChannelState, messages: readonly Message[]): ChannelState {
  const current = messages.filter(
    (message) => message.rev >= (state.messages.get(message.id)?.rev ?? 0),
  )
  if (current.length === 0) return state
  const changed = current.flatMap((message) => {
    const known = state.messages.get(message.id)
    const next = keepGrown(toChatMessage(message), known)
    // At the same rev it may still differ: in profiles, and in fields that events omit.
    return known && isDeepEqual(known, next) ? [] : [next]
  })
  const stored = updateQuotes(state, { ...state, messages: state.messages.with(changed) })
  return updatePins(spliceEarly(stored), current, { areFetched: true })
}

function updateMessage(
  state: ChannelState,
  { id, rev }: { id: string; rev: number },
  update: (message: ChatMessage) => ChatMessage,
): ChannelState {
  const message = state.messages.get(id)
  // The event of this very revision may have come before the pins were loaded.
  if (message?.rev === rev) return updatePins(state, [message], FROM_EVENT)
  if (!message || message.rev > rev) return state
  const updated = { ...update(message), rev }
  const messages = state.messages.with([updated])
  return updatePins({ ...state, messages }, [updated], FROM_EVENT)
}

/** A deleted message without its content. */
function toTombstone(message: ChatMessage, deletedAt: string): ChatMessage {
  const { linkPreviews: _, custom: __, streaming: ___, interrupted: ____, ...rest } = message
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

function updateReplyCount(
  state: ChannelState,
  parent: { id: string; replyCount: number } | undefined,
  rev: number,
) {
  if (!parent) return state
  const { id, replyCount } = parent
  return updateMessage(state, { id, rev }, (message) => ({ ...message, replyCount }))
}

/**
 * Events do not contain whether a reaction is the user's own: that stays as it was, except for the
 * types in `changed`.
 */
const withOwn = (
  reactions: readonly Reaction[],
  before: readonly Reaction[],
  changed: Record<string, boolean> = {},
) =>
  reactions.map((reaction) => ({
    ...reaction,
    own: changed[reaction.type] ?? before.some(({ type, own }) => own && type === reaction.type),
  }))

function advanceRead(state: ChannelState, userId: string, position: ReadPosition): ChannelState {
  const known = state.reads?.[userId]
  if (!state.reads || (known && known.lastReadSeq >= position.lastReadSeq)) return state
  return { ...state, reads: { ...state.reads, [userId]: position } }
}

function addReadPosition(state: ChannelState, userId: string): ChannelState {
  const { reads } = state
  return { ...state, reads: reads && { [userId]: { lastReadSeq: 0, readAt: null }, ...reads } }
}

function putMember(
  state: ChannelState,
  { userId, user, role, custom }: ChannelEvents['channel.member_joined'],
): ChannelState {
  const { members } = state
  const joinedAt = members?.get(userId)?.joinedAt ?? new Date().toISOString()
  return {
    ...state,
    members: members && new Map(members).set(userId, { userId, user, role, custom, joinedAt }),
  }
}

function removeMember(state: ChannelState, userId: string): ChannelState {
  const { [userId]: _, ...reads } = state.reads ?? {}
  const members = state.members && new Map([...state.members].filter(([id]) => id !== userId))
  return { ...stopTyping(state, userId), members, reads: state.reads && reads }
}

function stopTyping(state: ChannelState, userId: string): ChannelState {
  const typing = state.typing.filter(({ id }) => id !== userId)
  return typing.length === state.typing.length ? state : { ...state, typing }
}
