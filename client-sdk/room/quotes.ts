import { QUOTED_LENGTH } from '../generated/limits.ts'
import type { Message, QuotedMessage } from '../generated/types.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { memoize } from '../shared/equality.ts'
import type { ChannelState, ChatMessage } from './state.ts'

/** The part of a message that a quote shows. */
export const quoteOf = (message: Message): QuotedMessage => ({
  id: message.id,
  seq: message.seq,
  rev: message.rev,
  userId: message.userId,
  user: message.user,
  text: [...message.text].slice(0, QUOTED_LENGTH).join(''),
  attachmentCount: message.attachments.length,
  attachmentType: message.attachments[0]?.type ?? null,
  deletedAt: message.deletedAt,
})

type QuoteChange = Pick<QuotedMessage, 'id' | 'rev'> & Partial<QuotedMessage>

/** The change that an event makes in quotes of a message, loaded or not. */
export function changeIn(event: ChannelEvent): QuoteChange | undefined {
  if (event.type === 'message.updated') return quoteOf(event.payload.message)
  if (event.type !== 'message.deleted' || event.rev === undefined) return undefined
  const { messageId: id, deletedAt } = event.payload
  return { id, rev: event.rev, text: '', attachmentCount: 0, attachmentType: null, deletedAt }
}

/** The quoting messages of a chunk, found once, because a change replaces only its own chunk. */
const quotingIn = /* @__PURE__ */ memoize((chunk: readonly ChatMessage[]) =>
  chunk.filter(({ quotedMessage }) => quotedMessage),
)

/** Brings quotes up to date with the messages that are loaded, and with a change. */
export function updateQuotes(
  before: ChannelState,
  state: ChannelState,
  change?: QuoteChange,
): ChannelState {
  if (before.messages === state.messages && !change) return state
  const newest = (quoted: QuotedMessage) => {
    const loaded = state.messages.get(quoted.id)
    if (loaded) {
      return loaded.rev > quoted.rev ? quoteOf(loaded) : quoted
    }
    return change?.id === quoted.id && change.rev > quoted.rev ? { ...quoted, ...change } : quoted
  }
  const update = <Each extends Message>(message: Each): Each => {
    const quotedMessage = message.quotedMessage && newest(message.quotedMessage)
    return quotedMessage === message.quotedMessage ? message : { ...message, quotedMessage }
  }
  const outdated = state.messages.chunks
    .flatMap((chunk) => quotingIn(chunk))
    .filter((message) => update(message) !== message)
  const isPinOutdated = state.pins?.some((pin) => update(pin) !== pin)
  if (outdated.length === 0 && !isPinOutdated) return state
  const messages = state.messages.with(outdated.map(update))
  return { ...state, messages, pins: state.pins?.map(update) ?? null }
}
