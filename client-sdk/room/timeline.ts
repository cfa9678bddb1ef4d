import type { Message } from '../types.ts'
import { type ChannelState, type ChatMessage, learn, type Range } from './reducer.ts'

/** A page of messages as the server gave it, and where it belongs; `known` to no stretch. */
export type Page = {
  messages: readonly Message[]
  hasMore: boolean
  where: 'newest' | 'older' | 'newer' | 'known'
}

/** Which stretch a page adds to: the channel's own, or the thread below a message. */
export type Stretch = { parentId?: string | undefined }

export const rangeOf = (state: ChannelState, { parentId }: Stretch) =>
  parentId === undefined ? state.main : (state.threads.get(parentId) ?? null)

const withRange = (state: ChannelState, { parentId }: Stretch, range: Range): ChannelState =>
  parentId === undefined
    ? { ...state, main: range }
    : { ...state, threads: new Map(state.threads).set(parentId, range) }

/** The state with a page: its messages are known, and the stretch reaches as far as it goes. */
export function addPage(state: ChannelState, page: Page, stretch: Stretch = {}): ChannelState {
  const { messages, hasMore, where } = page
  if (where === 'known') return learn(state, messages)
  const range = rangeOf(state, stretch) ?? { from: 0, to: Number.POSITIVE_INFINITY }
  const from = hasMore ? (messages[0]?.seq ?? range.from) : 0
  const to = hasMore ? (messages.at(-1)?.seq ?? range.to) : Number.POSITIVE_INFINITY
  const reach = {
    newest: { from, to: Number.POSITIVE_INFINITY },
    older: { ...range, from },
    newer: { ...range, to },
  }[where]
  return withRange(learn(state, messages), stretch, reach)
}

/** The stretch around a message, in place of the one that was shown. */
export const jump = (
  state: ChannelState,
  { messages, range }: { messages: readonly Message[]; range: Range },
): ChannelState => withRange(learn(state, messages), {}, range)

/** The messages of a stretch in order, without deleted ones. */
export function shown(state: ChannelState, stretch: Stretch = {}): ChatMessage[] {
  return inRange(state, stretch).filter(({ deletedAt }) => deletedAt === null)
}

/** The message from which to page on. A deleted one will do. */
export const edge = (state: ChannelState, stretch: Stretch, side: 'older' | 'newer') =>
  inRange(state, stretch).at(side === 'older' ? 0 : -1)?.id

/** How many messages the channel itself shows, tombstones included. */
export const countOf = (state: ChannelState) => inRange(state, {}).length

/** With more than so many messages at the live end, the older half of them are forgotten; but what threads show stays. */
export function trim(state: ChannelState, most: number): ChannelState {
  const { main, threads, messages } = state
  if (messages.size <= most || main?.to !== Number.POSITIVE_INFINITY) return state
  const shown = inRange(state, {})
  const first = shown.length > most ? shown.at(-Math.ceil(most / 2)) : undefined
  if (!first) return state
  const isKept = ({ id, seq, parentId }: ChatMessage) =>
    seq >= first.seq || threads.has(id) || threads.has(parentId ?? '')
  return {
    ...state,
    main: { ...main, from: first.seq },
    messages: new Map([...messages].filter(([, message]) => isKept(message))),
  }
}

function inRange(state: ChannelState, stretch: Stretch) {
  const range = rangeOf(state, stretch)
  if (!range) return []
  const { parentId } = stretch
  return [...state.messages.values()]
    .filter(
      (message) =>
        message.seq >= range.from &&
        message.seq <= range.to &&
        (parentId === undefined || message.parentId === parentId),
    )
    .sort((a, b) => a.seq - b.seq)
}
