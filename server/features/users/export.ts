import { contract, type ExportItem, limits } from '@parley/contract'
import { isNoted, noteLongAct } from '../../core/audit.ts'
import { ApiError } from '../../core/errors.ts'
import { implement } from '../../core/operation.ts'
import { userNotFound } from '../../core/refusals.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { decodeCursor, encodeCursor, invalidCursor } from '../cursors.ts'
import { nameAppOfUses } from './erase-invites.ts'
import { type ExportPosition, type ExportRef, START } from './export-part.ts'
import { exportParts } from './export-parts.ts'

const operation = 'users.export'
const { exportHours: hours } = limits
const EXPIRED = `cursor: expected that of a page of the last ${hours} hours, by the same API key`

export const exportUser = implement(contract.users.export, async (ctx, { userId, cursor }) => {
  const { appId } = ctx.caller
  const { db } = ctx
  const { count } = await db`
    select
    from users u
    where u.app_id = ${appId}
      and u.id = ${userId}
      and u.deleted_at is null`
  if (count === 0) throw userNotFound()
  if (cursor === undefined) await nameAppOfUses(db, { appId, userIds: [userId] })
  const { noteId, ...from } =
    cursor === undefined
      ? { noteId: await noteLongAct(ctx, { operation, target: { userId } }), part: 0, ...START }
      : positionOf(cursor)
  // A cursor names the audit entry of its first page, so no page is read without an entry.
  if (cursor !== undefined && !(await isNoted(ctx, { id: noteId, operation, userId, hours })))
    throw new ApiError('VALIDATION_ERROR', EXPIRED)
  const { items, next } = await readPage(db, { appId, userId }, from)
  return {
    items,
    nextCursor: next && encodeCursor(`${noteId}:${next.part}`, `${next.first}:${next.second}`),
  }
})

/** An id, and what orders the rows of it. */
const KEY = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(.+)$/s
/** The entry of the audit log, and the part. */
const PAGE = /^(\d{1,18}):(\d{1,2})$/
type ExportStart = ExportPosition & { part: number }

function positionOf(cursor: string): ExportStart & { noteId: string } {
  const [page, key] = decodeCursor(cursor)
  const [, noteId, part] = PAGE.exec(page) ?? []
  const [, first, second] = KEY.exec(key) ?? []
  if (noteId === undefined || first === undefined || second === undefined) throw invalidCursor()
  const position = { part: Number(part), first, second }
  if (!exportParts[position.part]?.isPosition(position)) throw invalidCursor()
  return { noteId, ...position }
}

/** A row without data is not the user's, but counts for the page. */
type Row = ExportPosition & { data: ExportItem['data'] | null; found: number }

/** Parts are read one after the other, until a page has something or there are no more. */
async function readPage(db: Tx, user: ExportRef, from: ExportStart) {
  for (let position = from; ; ) {
    const part = exportParts[position.part]
    if (!part) return { items: [], next: null }
    const { rows: which, end } = await part.select(db, { ...user, ...position })
    const rows = await selectRows(db, which)
    const items = rows.flatMap(({ data }) => (data === null ? [] : { kind: part.kind, data }))
    const last = rows.at(-1)
    const isFull = last && (rows.length < last.found || last.found >= limits.exportPage)
    const next = isFull
      ? { ...position, first: last.first, second: last.second }
      : after(position, end)
    const isLast = exportParts[next.part] === undefined
    if (items.length > 0 || isLast) {
      return { items, next: isLast ? null : next }
    }
    // A full page, or a slice of channels, is a page even without anything: it has an end.
    if (end || isFull) return { items, next }
    position = next
  }
}

const after = ({ part }: ExportStart, end: ExportPosition | undefined): ExportStart =>
  end ? { part, ...end } : { part: part + 1, ...START }

/** As many rows as an answer has room for, but at least one. */
const selectRows = (db: Tx, which: Fragment) => db<Row[]>`
  select measured.first, measured.second, measured.data, measured.found
  from (
    select
      part.*,
      (count(*) over ())::int as found,
      sum(coalesce(octet_length(part.data::text), 0)) over (order by part.ordinal) as bytes
    from (${which}) part
  ) measured
  where measured.bytes <= ${limits.answerBytes} or measured.ordinal = 1
  order by measured.ordinal`
