import type { Message } from '../types.ts'
import { upsertMessages } from './reducer.ts'
import type { ChannelState, ChatMessage, Timeline, TimelineWindow } from './state.ts'

export type Direction = 'older' | 'newer'
/** A page of messages as the server returned it, and where it belongs in the timeline. */
export type Page = {
  messages: readonly Message[]
  hasMore: boolean
  position: 'newest' | Direction
  /** For an older or newer page: the edge of the window when it was requested. */
  edge?: number
}

export const windowOf = (state: ChannelState, { parentId }: Timeline) =>
  parentId === undefined ? state.mainWindow : (state.threadWindows.get(parentId) ?? null)

const withWindow = (
  state: ChannelState,
  { parentId }: Timeline,
  window: TimelineWindow,
): ChannelState =>
  parentId === undefined
    ? { ...state, mainWindow: window }
    : { ...state, threadWindows: new Map(state.threadWindows).set(parentId, window) }

/**
 * Adds a page: its messages are known, and the timeline's window extends over them. If the window
 * has moved since an older or newer page was requested, the two do not meet, and it stays.
 */
export function addPage(state: ChannelState, page: Page, timeline: Timeline = {}): ChannelState {
  const { messages, hasMore, position, edge } = page
  const window = windowOf(state, timeline) ?? { from: 0, to: Number.POSITIVE_INFINITY }
  const isMoved = edge !== undefined && edge !== (position === 'older' ? window.from : window.to)
  if (isMoved) return upsertMessages(state, messages)
  const from = hasMore ? (messages[0]?.seq ?? window.from) : 0
  const to = hasMore ? (messages.at(-1)?.seq ?? window.to) : Number.POSITIVE_INFINITY
  const extended = {
    newest: { from, to: Number.POSITIVE_INFINITY },
    older: { ...window, from },
    newer: { ...window, to },
  }[position]
  return withWindow(upsertMessages(state, messages), timeline, extended)
}

/** Moves the channel's window to these messages. */
export const moveWindow = (
  state: ChannelState,
  { messages, window }: { messages: readonly Message[]; window: TimelineWindow },
): ChannelState => withWindow(upsertMessages(state, messages), {}, window)

/** Adds a message that was sent just now: its timelines show it until their windows include it. */
export function addSent(state: ChannelState, message: Message): ChannelState {
  const { id: messageId, parentId } = message
  const timelines: Timeline[] = parentId === null ? [{}] : [{}, { parentId }]
  const added = timelines.map((timeline) => ({ ...timeline, messageId }))
  const others = state.justSent.filter((sent) => sent.messageId !== messageId)
  return { ...upsertMessages(state, [message]), justSent: [...others, ...added] }
}

/** Forgets just-sent messages that a window includes by now, and those no longer known. */
export function dropShownSent(state: ChannelState): ChannelState {
  const justSent = state.justSent.filter((sent) => {
    const message = state.messages.get(sent.messageId)
    return message && !isInWindow(message, windowOf(state, sent))
  })
  return justSent.length === state.justSent.length ? state : { ...state, justSent }
}

/** The messages that a timeline shows, in order: those in its window, and just-sent ones. */
export function visibleMessages(state: ChannelState, timeline: Timeline = {}): ChatMessage[] {
  const justSent = state.justSent.flatMap(({ parentId, messageId }) => {
    const message = parentId === timeline.parentId && state.messages.get(messageId)
    return message ? [message] : []
  })
  return [...messagesInWindow(state, timeline), ...justSent].filter(
    ({ deletedAt }) => deletedAt === null,
  )
}

/** The id of the message from which to page on; it may be a deleted one. */
export const cursorOf = (state: ChannelState, timeline: Timeline, direction: Direction) =>
  messagesInWindow(state, timeline).at(direction === 'older' ? 0 : -1)?.id

/** How many messages the channel's window holds, tombstones included. */
export const windowSize = (state: ChannelState) => messagesInWindow(state, {}).length

/**
 * If the window includes the newest message and holds more than `limit`, drops the older ones down
 * to half of the limit. Pinned messages and those of open threads are kept.
 */
export function trimWindow(state: ChannelState, limit: number): ChannelState {
  const { mainWindow: window, threadWindows, messages } = state
  if (messages.size <= limit || window?.to !== Number.POSITIVE_INFINITY) return state
  const shown = messagesInWindow(state, {})
  const first = shown.length > limit ? shown.at(-Math.ceil(limit / 2)) : undefined
  if (!first) return state
  const isKept = ({ id, seq, parentId, pinned }: ChatMessage) =>
    pinned || seq >= first.seq || threadWindows.has(id) || threadWindows.has(parentId ?? '')
  return {
    ...state,
    mainWindow: { ...window, from: first.seq },
    messages: new Map([...messages].filter(([, message]) => isKept(message))),
  }
}

function messagesInWindow(state: ChannelState, timeline: Timeline) {
  const window = windowOf(state, timeline)
  const { parentId } = timeline
  return [...state.messages.values()]
    .filter(
      (message) =>
        isInWindow(message, window) && (parentId === undefined || message.parentId === parentId),
    )
    .sort((a, b) => a.seq - b.seq)
}

const isInWindow = ({ seq }: ChatMessage, window: TimelineWindow | null) =>
  window !== null && seq >= window.from && seq <= window.to
