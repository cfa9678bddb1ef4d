import type { Message } from '../generated/types.ts'
import { isDeepEqual, isShallowEqual, memoize } from '../shared/equality.ts'
import { concat, OrderedMessages } from './ordered.ts'
import { upsertMessages } from './reducer.ts'
import {
  type ChannelState,
  type ChatMessage,
  emptyState,
  type Timeline,
  type TimelineWindow,
} from './state.ts'

export type Direction = 'older' | 'newer'
/** A page of messages as the server returned it. */
export type Page = { messages: readonly Message[]; hasMore: boolean }

/** The messages that are no replies, among the threads. */
const ROOTS = ''
const keyOf = ({ parentId, replies }: Timeline) => (replies === false ? ROOTS : parentId)

export function loadedWindowOf(state: ChannelState, timeline: Timeline) {
  const key = keyOf(timeline)
  return key === undefined ? state.mainWindow : (state.threadWindows.get(key) ?? null)
}

/** Before the roots are loaded, those among the messages are known. */
export const windowOf = (state: ChannelState, timeline: Timeline) =>
  loadedWindowOf(state, timeline) ?? (timeline.replies === false ? state.mainWindow : null)

/** Moves a timeline's window. */
export function withWindow(
  state: ChannelState,
  timeline: Timeline,
  window: TimelineWindow,
): ChannelState {
  const key = keyOf(timeline)
  return key === undefined
    ? { ...state, mainWindow: window }
    : { ...state, threadWindows: new Map(state.threadWindows).set(key, window) }
}

/** Adds the newest page: its messages are known, and the timeline's window moves to them. */
export function addNewest(
  state: ChannelState,
  { messages, hasMore }: Page,
  timeline: Timeline = {},
): ChannelState {
  const from = hasMore ? (messages[0]?.seq ?? 0) : 0
  const window = { from, to: Number.POSITIVE_INFINITY }
  return withWindow(upsertMessages(state, messages), timeline, window)
}

/** How many messages a call loads, and how many are kept of a room that nobody watches. */
export const PAGE_SIZE = 50

/** How many sent messages may wait. They would for ever in a timeline that nobody opens. */
const MAX_JUST_SENT = 100

/** Adds a message that was sent just now: its timelines show it until their windows include it. */
export function addSent(state: ChannelState, message: Message): ChannelState {
  const { id: messageId, parentId } = message
  const timelines: Timeline[] = [{}, parentId === null ? { replies: false } : { parentId }]
  const added = timelines.map((timeline) => ({ ...timeline, messageId }))
  const others = state.justSent.filter((sent) => sent.messageId !== messageId)
  const justSent = [...others, ...added].slice(-MAX_JUST_SENT)
  return { ...upsertMessages(state, [message]), justSent }
}

/** Forgets just-sent messages that a window reaches by now, and those no longer known. */
export function dropShownSent(state: ChannelState): ChannelState {
  const justSent = state.justSent.filter((sent) => {
    const message = state.messages.get(sent.messageId)
    return message && message.seq > (windowOf(state, sent)?.to ?? 0)
  })
  return justSent.length === state.justSent.length ? state : { ...state, justSent }
}

/** The messages that a timeline shows, in order: those in its window, and just-sent ones. */
export function visibleMessages(
  state: ChannelState,
  timeline: Timeline = {},
): readonly ChatMessage[] {
  const key = keyOf(timeline)
  const justSent = state.justSent.flatMap((sent) => {
    const message = keyOf(sent) === key && state.messages.get(sent.messageId)
    return message && message.deletedAt === null ? [message] : []
  })
  const shown = shownInWindow(state, timeline)
  return append(shown, justSent)
}

type ShownTimeline = { parts: readonly (readonly ChatMessage[])[]; items: readonly ChatMessage[] }
/** By collection and timeline: the same array until what is shown changes. */
const shownBefore = /* @__PURE__ */ memoize(() => new Map<string | undefined, ShownTimeline>())
/** By part and timeline: a part that has not changed is not filtered again. */
const shownParts = /* @__PURE__ */ memoize(
  () => new Map<string | undefined, readonly ChatMessage[]>(),
)

function shownInWindow(state: ChannelState, timeline: Timeline): readonly ChatMessage[] {
  const { messages } = state
  const { from, to } = windowOf(state, timeline) ?? { from: 1, to: 0 }
  const parts = messages.range(from, to).map((part) => shownOf(part, timeline))
  // The empty collection is shared by channels.
  if (parts.length === 0) return NO_MESSAGES
  const known = shownBefore(messages.index)
  const before = known.get(keyOf(timeline))
  if (before && isDeepEqual(before.parts, parts)) return before.items
  const items = concat(parts)
  known.set(keyOf(timeline), { parts, items })
  return items
}
const NO_MESSAGES: readonly ChatMessage[] = []

function shownOf(part: readonly ChatMessage[], timeline: Timeline) {
  const byTimeline = shownParts(part)
  const known = byTimeline.get(keyOf(timeline))
  if (known) return known
  const shown = part.filter((message) => message.deletedAt === null && isOf(message, timeline))
  byTimeline.set(keyOf(timeline), shown)
  return shown
}

type Messages = readonly ChatMessage[]
/** The same array for the same messages: a long one is not compared at each step of a send. */
export const append = /* @__PURE__ */ memoize(
  (above: Messages, below: Messages) => (below.length === 0 ? above : concat([above, below])),
  isShallowEqual,
)

/** How many messages a timeline's window holds, tombstones included. */
const sizeOf = (state: ChannelState, timeline: Timeline) => count(rangeOf(state, timeline))
const count = (parts: readonly (readonly unknown[])[]) =>
  parts.reduce((size, { length }) => size + length, 0)

/** The size of the channel's window, with or without replies: whichever was paged to farther. */
export const windowSize = (state: ChannelState) =>
  Math.max(sizeOf(state, {}), sizeOf(state, { replies: false }))

/**
 * If the window includes the newest message and holds more than `limit`, drops the older ones down
 * to half of the limit. If it does not, drops newer ones once they are more than that: they are
 * loaded when the user pages there. Without a window all are newer ones. Pinned and just-sent
 * messages and those of open threads are kept.
 */
export function trimWindow(state: ChannelState, limit: number): ChannelState {
  const { mainWindow, threadWindows, messages, justSent } = state
  if (messages.size <= limit) return state
  const trimmed = [{}, { replies: false } as const].reduce(
    (next, timeline) => trimTimeline(next, timeline, limit),
    state,
  )
  const newer = messages.range((mainWindow?.to ?? 0) + 1, Number.POSITIVE_INFINITY)
  if (trimmed === state && count(newer) <= limit) return state
  const windows = [trimmed.mainWindow, windowOf(trimmed, { replies: false })]
  const isKept = (message: ChatMessage) =>
    message.pinned ||
    windows.some((window) => isInWindow(message, window)) ||
    threadWindows.has(message.id) ||
    threadWindows.has(message.parentId ?? NO_THREAD) ||
    justSent.some(({ messageId }) => messageId === message.id)
  return { ...trimmed, messages: OrderedMessages.of(messages.values().filter(isKept)) }
}
const NO_THREAD = 'none'

/**
 * The state with the newest messages, and pinned ones, whose changes the pins follow. Without the
 * newest nothing is left but the position.
 */
export function newestPage(state: ChannelState): ChannelState {
  const { mainWindow, messages } = state
  const isNewest = mainWindow?.to === Number.POSITIVE_INFINITY
  const inWindow = isNewest ? messagesInWindow(state, {}) : []
  const page = inWindow.slice(-PAGE_SIZE)
  const from = page.length < inWindow.length ? page[0]?.seq : mainWindow?.from
  const pinned = isNewest ? messages.values().filter((message) => message.pinned) : []
  return {
    ...state,
    messages: OrderedMessages.of([...pinned, ...page]),
    mainWindow: isNewest && from !== undefined ? { ...mainWindow, from } : null,
    threadWindows: emptyState.threadWindows,
    justSent: emptyState.justSent,
  }
}

function trimTimeline(state: ChannelState, timeline: Timeline, limit: number): ChannelState {
  const window = windowOf(state, timeline)
  if (window?.to !== Number.POSITIVE_INFINITY || sizeOf(state, timeline) <= limit) return state
  const first = messagesInWindow(state, timeline).at(-Math.ceil(limit / 2))
  return first ? withWindow(state, timeline, { ...window, from: first.seq }) : state
}

function rangeOf(state: ChannelState, timeline: Timeline) {
  const window = windowOf(state, timeline)
  return window ? state.messages.range(window.from, window.to) : []
}

export const messagesInWindow = (state: ChannelState, timeline: Timeline) =>
  concat(rangeOf(state, timeline))

export const isOf = ({ parentId }: ChatMessage, timeline: Timeline) =>
  timeline.replies === false
    ? parentId === null
    : timeline.parentId === undefined || parentId === timeline.parentId

/** Whether a timeline shows this message, which is stored, unless it is deleted. */
export const isShown = (state: ChannelState, timeline: Timeline, message: ChatMessage) =>
  (isOf(message, timeline) && isInWindow(message, windowOf(state, timeline))) ||
  state.justSent.some((sent) => keyOf(sent) === keyOf(timeline) && sent.messageId === message.id)

const isInWindow = ({ seq }: ChatMessage, window: TimelineWindow | null) =>
  window !== null && seq >= window.from && seq <= window.to
