import type { Message } from '../types.ts'
import type { ChannelState } from './state.ts'

/**
 * Updates pinned messages with the messages that have changed. A message that was pinned just now
 * makes the pins stale: events do not contain who pinned it.
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
  const hasUnlistedPin = changed.some(
    (message) => message.pinned && !message.deletedAt && !isListed(message),
  )
  const changedById = new Map(changed.map((message) => [message.id, message]))
  if (!hasUnlistedPin && !pins.some(({ id }) => changedById.has(id))) return state
  const updated = pins.flatMap((pin) => {
    const message = changedById.get(pin.id)
    if (!message || message.rev < pin.rev) return [pin]
    return message.pinned ? [{ ...message, pinnedBy: pin.pinnedBy, pinnedAt: pin.pinnedAt }] : []
  })
  return { ...state, pins: updated, arePinsStale: state.arePinsStale || hasUnlistedPin }
}
