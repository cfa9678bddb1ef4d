import { limits, type Message } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { type MessageRow, pinOf, toMessage, viewColumns, viewTables } from './view.ts'

type PageQuery = {
  viewer: string | null
  /** Selects message rows `msg`; it may end in order and limit. */
  rows: Fragment
  /** Their order, by columns of `page`. Messages that compare as equal stay together. */
  order: Fragment
  /** How many bytes the answer has before the messages of a place, which count from 1. */
  bytesBefore?: (place: number) => number
}
/** `found` counts the messages of the page. Those that compare as equal share a place. */
type PageRow = [place: number, found: number, ...view: MessageRow]

/** What an answer says of a message beside it, at most, but for the id of who pinned it. */
const AROUND_BYTES = 100

/**
 * The first messages of a page: as many as an answer has room for, but at least one, and how many
 * the page has; `bytes` is the size of the answer up to the last of them.
 */
export async function selectMessagePage(db: Tx, query: PageQuery) {
  const { bytesBefore = () => 0 } = query
  const rows = await selectPageRows(db, query)
  const shown: PageMessage[] = []
  let [end, bytes, size] = [0, 0, 0]
  for (const [index, [place, , ...row]] of rows.entries()) {
    const message = toMessage(row)
    const json = JSON.stringify(message)
    const pin = pinOf(row)
    shown.push({ message, json, ...pin })
    size += Buffer.byteLength(json) + Buffer.byteLength(pin.pinnedBy ?? '') + AROUND_BYTES
    if (rows[index + 1]?.[0] === place) continue
    const total = bytesBefore(place) + size
    if (end > 0 && total > limits.answerBytes) break
    end = index + 1
    bytes = total
  }
  return { shown: shown.slice(0, end), found: rows[0]?.[1] ?? 0, bytes }
}

/** A message of a page, and its JSON: it was made to be measured, and can be answered. */
type PageMessage = { message: Message; json: string } & ReturnType<typeof pinOf>

/**
 * What users wrote is measured before anything else is read, and that before it is answered: a page
 * of messages with many reactions may have hundreds of megabytes.
 */
async function selectPageRows(db: Tx, { viewer, rows, order }: PageQuery) {
  const found = await db`
    select measured.*
    from (
      select
        msg.place, msg.found,
        ${viewColumns(db)},
        msg.content_bytes
        + sum(coalesce(octet_length(more.reactions::text), 0)) over (order by msg.place) as bytes
      from (
        select
          page.*,
          (count(*) over ())::int as found,
          (rank() over (order by ${order}))::int as place,
          sum(
            octet_length(page.text)
            + octet_length(page.attachments::text)
            + coalesce(octet_length(page.link_previews::text), 0)
            + coalesce(octet_length(page.custom::text), 0)
          ) over (order by ${order}) as content_bytes
        from (${rows}) page
      ) msg
      ${viewTables(db, viewer)}
      where msg.content_bytes <= ${limits.answerBytes} or msg.place = 1
    ) measured
    where measured.bytes <= ${limits.answerBytes} or measured.place = 1
    order by measured.place, measured.seq`.values()
  return found as unknown as PageRow[] // by the columns
}
