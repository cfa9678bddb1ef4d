import type { ChannelState, ChatMessage, Delta } from './state.ts'

/** How many parts of a message may wait for one before them. The stored text comes every second. */
const MOST_EARLY = 100

/** Inserts a part of a text, or keeps it until the text before it is there. */
export function applyDelta(state: ChannelState, { messageId, at, text }: DeltaOf): ChannelState {
  if (!state.messages.get(messageId)?.streaming) return state
  const waiting = [...(state.early.get(messageId) ?? []), { at, text }].slice(-MOST_EARLY)
  return spliceEarly({ ...state, early: new Map(state.early).set(messageId, waiting) })
}
type DeltaOf = Delta & { messageId: string }

/** Keeps the text put together here if the stored copy of a growing message has less of it. */
export const keepGrown = (next: ChatMessage, before: ChatMessage | undefined): ChatMessage =>
  next.streaming && before?.streaming && before.text.startsWith(next.text)
    ? { ...next, text: before.text }
    : next

/** Inserts the waiting parts where they belong, as far as the texts before them are there. */
export function spliceEarly(state: ChannelState): ChannelState {
  if (state.early.size === 0) return state
  const early = new Map<string, readonly Delta[]>()
  const grown: ChatMessage[] = []
  for (const [id, deltas] of state.early) {
    const message = state.messages.get(id)
    if (!message?.streaming) continue
    const { text, left } = splice(message.text, deltas)
    if (left.length > 0) early.set(id, left)
    if (text !== message.text) grown.push({ ...message, text })
  }
  return { ...state, early, messages: state.messages.with(grown) }
}

function splice(before: string, deltas: readonly Delta[]) {
  const left: Delta[] = []
  let text = before
  for (const delta of [...deltas].sort((a, b) => a.at - b.at)) {
    if (delta.at > text.length) left.push(delta)
    else text += delta.text.slice(text.length - delta.at)
  }
  return { text, left }
}
