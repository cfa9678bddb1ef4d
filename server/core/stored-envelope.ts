import type { Envelope } from '@parley/contract'
import { constant } from '../db/sql.ts'

/**
 * The first of the characters that stand for parts of an envelope, in their order. JSON has none of
 * them: it writes control characters in another way.
 */
const FIRST_MARK = 14
const markOf = (index: number) => String.fromCharCode(FIRST_MARK + index)
const TIME_LENGTH = '2026-01-31T12:00:00.000Z'.length

type EventKey = { topic: string; offset: number; messageId: string | null }

/**
 * Parts of an envelope that follow from its row, or that most new messages share. Stored events
 * refer to them by their index: the list may only be appended to.
 */
function partsOf({ topic, offset, messageId }: EventKey, createdAt: string) {
  const channelId = topic.slice(topic.lastIndexOf(':') + 1)
  const ids = `"id":"${messageId}","channelId":"${channelId}",`
  return [
    `{"type":"message.new","payload":{"channelId":"${channelId}","message":{${ids}"type":"`,
    'regular","userId":"',
    `,"rev":${offset},"user":{"id":"`,
    '"reactions":[],',
    '"mentions":[],',
    '"attachments":[],',
    '"parentId":null,',
    '"replyCount":0,"pinned":false,"clientId":',
    `,"createdAt":"${createdAt}","updatedAt":"${createdAt}","editedAt":null,"deletedAt":null}`,
    ',"authorLastReadSeq":',
  ]
}

const longest = {
  topic: `:${'0'.repeat(36)}`,
  offset: 2 ** 31 - 1,
  messageId: '0'.repeat(36),
}
const MOST_SAVED = partsOf(longest, '0'.repeat(TIME_LENGTH)).join('').length

/**
 * The envelope as it is stored. That of a new message takes a third of the bytes: most of its JSON
 * follows from the row, or is the same in all. One with a quote is stored whole, since SQL changes
 * it when the quoted message is deleted.
 */
export function storedEnvelope(event: Envelope & EventKey & { envelope: string }) {
  const { envelope } = event
  if (event.type !== 'message.new') return envelope
  const { createdAt, quotedMessage } = event.payload.message
  if (quotedMessage !== undefined) return envelope
  const [start = '', ...parts] = partsOf(event, createdAt)
  if (!envelope.startsWith(start) || createdAt.length !== TIME_LENGTH) return envelope
  const rest = parts.reduce(
    (text, part, index) => text.replace(part, markOf(index + 1)),
    envelope.slice(start.length),
  )
  return `${markOf(0)}${createdAt}${rest}`
}

/** The envelope that was stored in this row. */
export function envelopeIn({ envelope, ...key }: EventKey & { envelope: string }) {
  if (envelope.charCodeAt(0) !== FIRST_MARK) return envelope
  const [start, ...parts] = partsOf(key, envelope.slice(1, TIME_LENGTH + 1))
  return parts.reduce(
    (text, part, index) => text.replace(markOf(index + 1), () => part),
    `${start}${envelope.slice(TIME_LENGTH + 1)}`,
  )
}

/** Whether the envelope of row `e` is stored whole: the index by message has only those rows. */
export const isStoredWhole = constant((db) => db`ascii(e.envelope) <> 14`)

/**
 * How many bytes the envelope of row `e` has at most. Asking whether it is stored whole would read
 * all of a long one.
 */
export const envelopeBytes = constant(
  (db) => db`octet_length(e.envelope)
    + case when e.type = 'message.new' then ${MOST_SAVED}::int else 0 end`,
)
