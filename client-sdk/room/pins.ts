import type { Message, PinnedMessage } from '../generated/types.ts'
import { keepIfEqual } from '../shared/equality.ts'
import { type OptimisticUpdate, withUpdates } from './optimistic.ts'
import { type ChannelState, toChatMessage } from './state.ts'

type Pin = Pick<PinnedMessage, 'pinnedBy' | 'pinnedAt'>

/**
 * The pins with one that was made just now. Of a message that is not loaded the event does not say
 * which reactions are the user's own: if it has some, the pins are loaded again.
 */
export function addPin(state: ChannelState, message: Message, pin: Pin): ChannelState {
  const { pins, messages } = state
  const known = messages.get(message.id)
  if (!pins || (known ? known.rev >= message.rev : message.reactions.length > 0)) return state
  const others = pins.filter(({ id }) => id !== message.id)
  const loaded = messages.with([known ?? toChatMessage(message)])
  return { ...state, messages: loaded, pins: [{ ...message, ...pin }, ...others] }
}

/**
 * Updates pinned messages with the messages that have changed. One that is pinned and not listed
 * makes the pins stale: only the event of the pin says who pinned it.
 */
export function updatePins(
  state: ChannelState,
  changed: readonly Message[],
  { areFetched }: { areFetched: boolean },
): ChannelState {
  const { pins } = state
  if (!pins) return state
  // Between two fetches a message may have been unpinned, and pinned again by someone else.
  const isListed = ({ id, rev }: Message) =>
    pins.some((pin) => pin.id === id && (!areFetched || pin.rev >= rev))
  const hasUnlistedPin = changed.some((message) => message.pinned && !isListed(message))
  const changedById = new Map(changed.map((message) => [message.id, message]))
  if (!hasUnlistedPin && !pins.some(({ id }) => changedById.has(id))) return state
  const updated = pins.flatMap((pin) => {
    const message = changedById.get(pin.id)
    if (!message || message.rev < pin.rev) return [pin]
    return message.pinned ? [{ ...message, pinnedBy: pin.pinnedBy, pinnedAt: pin.pinnedAt }] : []
  })
  return { ...state, pins: updated, arePinsStale: state.arePinsStale || hasUnlistedPin }
}

type ShownPins = {
  state: ChannelState
  updates: readonly OptimisticUpdate[]
  me: string
}

/**
 * The pins that the server lists, and before them those of the user that it does not list yet, all
 * with the updates. The latter were shown before, or are the effect of an update.
 */
export function shownPins(
  before: readonly PinnedMessage[],
  { state, updates, me }: ShownPins,
): readonly PinnedMessage[] {
  const pinnedAt = new Date().toISOString()
  const made = updates.flatMap(({ messageId }) => {
    const message = state.messages.get(messageId)
    return message && !message.pinned ? { ...message, pinnedBy: me, pinnedAt } : []
  })
  const unlisted = new Map([...made.reverse(), ...before].map((pin) => [pin.id, pin]))
  const listed = state.pins ?? []
  for (const { id } of listed) unlisted.delete(id)
  const own = [...unlisted.values()].flatMap((pin) => {
    const { pinnedBy, pinnedAt } = pin
    const message = state.messages.get(pin.id)
    return message ? keepIfEqual(pin, { ...withUpdates(message, updates), pinnedBy, pinnedAt }) : []
  })
  return [...own, ...listed.map((pin) => withUpdates(pin, updates))].filter(
    ({ pinned, deletedAt }) => pinned && deletedAt === null,
  )
}
