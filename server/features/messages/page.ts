import { limits, type Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { constant } from '../../db/sql.ts'
import { type MessageValues, messageJson } from './message-json.ts'
import { reactionsOfMessage } from './reaction-groups.ts'
import { viewColumns, withAuthor } from './view.ts'

type PageQuery = {
  viewer: string | null
  /** Selects message rows `msg`; it may end in order and limit. */
  rows: Fragment
  /** Their order, by columns of `msg`. Messages that compare as equal stay together. */
  order: Fragment
  /** The channel that all of them are in, if there is one. */
  channelId?: string
  /** More fields of each, by columns of `msg`, as text of JSON. */
  also?: Fragment
}
/** Messages that compare as equal have the same rank. */
type MessagePageRow = [
  ...view: MessageValues,
  rank: number,
  hasNext: true | null,
  also: string | null,
]
/** Where its columns are. */
const SEQ = 7
const RANK = 26 satisfies MessageValues['length']
const HAS_NEXT = RANK + 1
const ALSO = HAS_NEXT + 1

/** The most bytes of an answer for a message, besides the message. */
const AROUND_BYTES = 100

type PageMessage = { seq: number; json: string }

/**
 * The first messages of a page: as many as an answer has room for, but at least one, and whether
 * more follow; `bytes` is the size of the answer up to the last of them.
 */
export const selectMessagePage = async (db: Tx, query: PageQuery) =>
  (await readMessagePage(db, query))(0)

/** The same for an answer that has more: it is known later how many bytes are before them. */
export async function readMessagePage(db: Tx, query: PageQuery) {
  const rows = await selectPageRows(db, query)
  return (bytesBefore: number) => fitRows(rows, { bytesBefore, channelId: query.channelId })
}

type Fitting = { bytesBefore: number; channelId: string | undefined }

function fitRows(rows: MessagePageRow[], { bytesBefore, channelId }: Fitting) {
  const shown: PageMessage[] = []
  let bytes = bytesBefore
  let [end, size] = [0, bytes]
  for (const [index, row] of rows.entries()) {
    const message = messageJson(row, channelId)
    const also = row[ALSO]
    const json = also === null ? message : `${message.slice(0, -1)},${also}}`
    shown.push({ seq: row[SEQ], json })
    size += Buffer.byteLength(json) + AROUND_BYTES
    if (rows[index + 1]?.[RANK] === row[RANK]) continue
    if (end > 0 && size > limits.answerBytes) break
    end = index + 1
    bytes = size
  }
  const isCut = end < rows.length || (end > 0 && rows.every((row) => row[HAS_NEXT]))
  return { shown: shown.slice(0, end), isCut, bytes }
}

/** The messages of a page as objects. */
export const messagesOf = (shown: PageMessage[]) =>
  shown.map(({ json }): Message => JSON.parse(json))

/**
 * Measures what users wrote, and how they reacted, before it is answered: a page of messages with
 * many reactions may have hundreds of megabytes.
 */
async function selectPageRows(
  db: Tx,
  { viewer, rows, order, channelId, also = nothingMore(db) }: PageQuery,
) {
  const found = await db<MessagePageRow[]>`
    select
      ${viewColumns(db, { reactions: readReactions(db), channelId })},
      msg.rank, msg.has_next, ${also}
    from (
      select
        msg.*, more.reactions,
        (rank() over page)::int as rank,
        lead(true) over page as has_next,
        sum(${contentBytes(db)} + coalesce(octet_length(more.reactions), 0)) over page as bytes
      from (${rows}) msg
      cross join lateral (
        select ${reactionsOfMessage(db, viewer)}::text as reactions
        offset 0 -- measured and answered, but made once
      ) more
      window page as (order by ${order})
    ) msg
    ${withAuthor(db)}
    where msg.bytes <= ${limits.answerBytes} or msg.rank = 1
    order by ${order}, msg.seq`.values()
  return found as unknown as MessagePageRow[] // compared with the columns in sql.test.ts
}

const nothingMore = constant((db) => db`null`)
const readReactions = constant((db) => db`msg.reactions`)

/**
 * The size of what users wrote. Most messages have only a text, for which nothing is serialised to
 * be measured.
 */
export const contentBytes = constant(
  (db) => db`
    octet_length(msg.text)
    + coalesce(octet_length(nullif(msg.attachments, '[]')::text), 0)
    + coalesce(octet_length(msg.link_previews::text), 0)
    + coalesce(octet_length(msg.custom::text), 0)`,
)
