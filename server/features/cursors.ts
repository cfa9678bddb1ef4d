import { limits } from '@parley/contract'
import { ApiError } from '../core/errors.ts'
import { parseJson } from '../core/json-text.ts'
import type { Tx } from '../db/client.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The position of a row in its list, for the client to keep and give back unread. */
export const encodeCursor = (first: string, second: string) =>
  Buffer.from(JSON.stringify([first, second])).toString('base64url')

export const invalidCursor = () =>
  new ApiError('VALIDATION_ERROR', 'cursor: expected the nextCursor of an earlier page')

/** The two values that a cursor was made of. */
export function decodeCursor(cursor: string): [string, string] {
  const values = parseJson(Buffer.from(cursor, 'base64url').toString())
  if (!isCursorPair(values)) throw invalidCursor()
  return values
}

/** The id that a cursor names. */
export function decodeIdCursor(cursor: string) {
  const [id] = decodeCursor(cursor)
  if (!UUID.test(id)) throw invalidCursor()
  return id
}

/** The number that a cursor names. */
export function decodeNumberCursor(cursor: string) {
  const [number] = decodeCursor(cursor)
  if (!/^\d{1,18}$/.test(number)) throw invalidCursor()
  return number
}

/** Two strings that PostgreSQL can store: it refuses NUL. */
const isCursorPair = (values: unknown): values is [string, string] =>
  Array.isArray(values) &&
  values.length === 2 &&
  values.every((value) => typeof value === 'string' && !value.includes('\0'))

/**
 * Cuts a list, read with one row more than fits, to a page, and makes the cursor of the next page.
 * A page ends where an answer has no more room, but has at least one row.
 */
export function toPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string) {
  const page = rows.slice(0, Math.min(limit, fittingRows(rows)))
  const last = rows.length > page.length ? page.at(-1) : undefined
  return { page, nextCursor: last === undefined ? null : cursorOf(last) }
}

/** How many of these rows fit into an answer, beside a cursor. */
function fittingRows(rows: unknown[]) {
  let room = limits.answerBytes - limits.cursorLength
  const end = rows.findIndex((row) => {
    room -= Buffer.byteLength(JSON.stringify(row)) + 1
    return room < 0
  })
  return end < 0 ? rows.length : Math.max(1, end)
}

/**
 * Makes a page of rows that all fit, because the query left out those without room. `hasNext` of
 * the last one says whether more follow.
 */
export function toFittingPage<Row extends { hasNext: true | null }>(
  rows: Row[],
  limit: number,
  cursorOf: (row: Row) => string,
) {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = last?.hasNext ? cursorOf(last) : null
  return { page: page.map(({ hasNext: _, ...row }) => row), nextCursor }
}

/** The members `m`, or `row`, after a cursor, in the order they joined. */
export function joinedAfter(db: Tx, cursor: string | undefined, row = db`m`) {
  if (cursor === undefined) return db`true`
  const [micros, userId] = decodeCursor(cursor)
  return db`(${row}.joined_at, ${row}.user_id) > (${timeOf(db, micros)}, ${userId})`
}

/** The workspaces of a user, by member rows `wm`, after a cursor, in the order they joined. */
export function joinedWorkspaceAfter(db: Tx, cursor: string | undefined) {
  if (cursor === undefined) return db`true`
  const [micros, id] = decodeCursor(cursor)
  if (!UUID.test(id)) throw invalidCursor()
  return db`(wm.joined_at, wm.workspace_id) > (${timeOf(db, micros)}, ${id}::uuid)`
}

/** The time that a cursor names after a number. */
export function decodeTimeCursor(db: Tx, cursor: string) {
  const [, micros] = decodeCursor(cursor)
  return timeOf(db, micros)
}

/** The time that is this many microseconds after 1970. */
export function timeOf(db: Tx, micros: string) {
  if (!/^\d{1,16}$/.test(micros)) throw invalidCursor()
  return db`(timestamptz 'epoch' + ${Number(micros)}::float8 * interval '1 microsecond')`
}

/** When member `m`, or `row`, joined, to the microsecond: the API shows milliseconds. */
export const joinedMicros = (db: Tx, row = db`m`) =>
  db`(extract(epoch from ${row}.joined_at) * 1000000)::bigint`

export const memberCursor = ({ joinedMicros, userId }: { joinedMicros: string; userId: string }) =>
  encodeCursor(joinedMicros, userId)
