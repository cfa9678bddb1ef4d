import { type AuditEntry, contract, type Input, limits } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Fragment, Tx } from '../db/client.ts'
import {
  decodeNumberCursor,
  decodeTimeCursor,
  encodeCursor,
  timeOf,
  toFittingPage,
} from './cursors.ts'

const list = implementWithoutTransaction(contract.audit.list, ({ db }, filter) =>
  selectEntries(db, filter),
)

const listOfApp = implementWithoutTransaction(contract.audit.listOfApp, ({ db }, filter) =>
  selectEntries(db, filter),
)

export const audit = { list, listOfApp } satisfies Implements<'audit'>

type Filter = Input<typeof contract.audit.list> & { appId?: string }
type Row = AuditEntry & { micros: string; hasNext: true | null }

/** The most bytes of an entry in an answer, apart from texts whose length callers chose. */
const AROUND_BYTES = 400

/**
 * Looks at a slice of the log, and returns those of its entries that match: as many as an answer
 * has room for. An entry may name a thousand users, so what has no room is left in the database.
 * The log is in the order of its times: an imported app brings old entries, which get new ids.
 */
async function selectEntries(db: Tx, { limit, ...filter }: Filter) {
  const { appId } = filter
  const start = positionOf(db, filter)
  const hasTargets = filter.targetId !== undefined
  const [slice] = await selectAuditSlice(db, { appId, start, hasTargets })
  if (!slice) return { entries: [], nextCursor: null }
  const end = { at: timeOf(db, slice.micros), id: slice.id }
  const rows = await db<Row[]>`
    select
      aud.id::text as id, ${micros(db)} as micros, aud.created_at, aud.app_id,
      jsonb_build_object(
        'type', aud.actor, 'keyId', aud.key_id, 'userId', aud.user_id
      ) as actor,
      aud.operation, aud.target, aud.request_id,
      aud.has_next
    from (
      select
        aud.*,
        row_number() over newest as ordinal,
        lead(true) over newest as has_next,
        sum(
          octet_length(
            jsonb_build_array(aud.user_id, aud.operation, aud.target, aud.request_id)::text
          ) + ${AROUND_BYTES}
        ) over newest as bytes
      from (
        select aud.*
        from audit aud
        where ${ofApp(db, appId)}
          and ${positionIn(db, appId)} < ${rowOf(db, start)}
          and ${positionIn(db, appId)} >= ${rowOf(db, end)}
          and ${matches(db, filter)}
        order by ${newestFirst(db, appId)}
        limit ${limit + 1}
      ) aud
      window newest as (order by aud.created_at desc, aud.id desc)
    ) aud
    where aud.bytes <= ${limits.answerBytes - limits.cursorLength} or aud.ordinal = 1
    order by aud.created_at desc, aud.id desc`
  const { page, nextCursor } = toFittingPage(rows, limit, cursorOf)
  const afterSlice = slice.isLast ? null : cursorOf(slice)
  const entries = page.map(({ micros: _, ...entry }) => entry)
  return { entries, nextCursor: nextCursor ?? afterSlice }
}

type Matched = Pick<Filter, 'operation' | 'actor' | 'userId' | 'keyId' | 'targetId'>

/** Whether entry `aud` matches the filter. Its target is looked at last: it may be long. */
const matches = (db: Tx, { operation, actor, userId, keyId, targetId }: Matched) => db`
  ${operation === undefined ? db`true` : db`aud.operation = ${operation}`}
  and ${actor === undefined ? db`true` : db`aud.actor = ${actor}`}
  and ${userId === undefined ? db`true` : db`aud.user_id = ${userId}`}
  and ${keyId === undefined ? db`true` : db`aud.key_id = ${keyId}`}
  and ${targetId === undefined ? db`true` : isAbout(db, targetId)}`

/** Whether the target of entry `aud` names something: as a value, or in a list. */
const isAbout = (db: Tx, id: string) => db`
  jsonb_path_exists(aud.target, '$.* ? (@ == $id)', ${db.json({ id })}::jsonb)`

/** A search reads no further target after this many bytes of them, as stored (compressed). */
const TARGET_BYTES = 1_048_576

/** The position of an entry, which begins with its id: older servers read no more of a cursor. */
const cursorOf = ({ id, micros }: { id: string; micros: string }) => encodeCursor(id, micros)

/** The time of entry `aud`, to the microsecond. */
const micros = (db: Tx) => db`(extract(epoch from aud.created_at) * 1000000)::bigint::text`

/** A position in the log: the entries before it are older, or as old and have a lower id. */
type AuditPosition = { at: Fragment; id: string }

/** Where the entries that are asked for begin, from the newest. */
function positionOf(db: Tx, { cursor, createdBefore }: Pick<Filter, 'cursor' | 'createdBefore'>) {
  if (cursor !== undefined)
    return { at: decodeTimeCursor(db, cursor), id: decodeNumberCursor(cursor) }
  if (createdBefore !== undefined) return { at: db`${createdBefore}::timestamptz`, id: '0' }
  return { at: db`'infinity'::timestamptz`, id: '0' }
}

type AuditSlice = { id: string; micros: string; isLast: boolean }
type SliceOptions = {
  appId: string | undefined
  start: AuditPosition
  /** Whether the search reads the targets, so that their bytes are limited. */
  hasTargets: boolean
}

/**
 * Looks at the newest entries before this position, and returns the oldest of those that are to be
 * searched. The sizes of targets are known without them.
 */
const selectAuditSlice = (db: Tx, { appId, start, hasTargets }: SliceOptions) => db<AuditSlice[]>`
  select
    aud.id::text as id, ${micros(db)} as micros,
    aud.ordinal = aud.found and aud.found < ${limits.auditSlice} as is_last
  from (
    select
      aud.id, aud.created_at,
      sum(aud.stored) over newest - aud.stored < ${TARGET_BYTES} as is_within,
      row_number() over newest as ordinal,
      count(*) over () as found
    from (
      select
        aud.id, aud.created_at,
        ${hasTargets ? db`pg_column_size(aud.target)` : db`0`} as stored
      from audit aud
      where ${ofApp(db, appId)}
        and ${positionIn(db, appId)} < ${rowOf(db, start)}
      order by ${newestFirst(db, appId)}
      limit ${limits.auditSlice}
    ) aud
    window newest as (order by aud.created_at desc, aud.id desc)
  ) aud
  where aud.is_within
  order by aud.ordinal desc
  limit 1`

/**
 * Makes PostgreSQL use the index of apps and times. With `app_id = …` the index of times alone has
 * the same order, and it may read the entries of all other apps.
 */
const ofApp = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`true` : db`aud.app_id = any(array[${appId}::uuid])`

/** For the same reason the index of apps has the time as an expression, which no other one has. */
const timeIn = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`aud.created_at` : db`greatest(aud.created_at, '-infinity')`
const positionIn = (db: Tx, appId: string | undefined) => db`(${timeIn(db, appId)}, aud.id)`
const rowOf = (db: Tx, { at, id }: AuditPosition) => db`(${at}, ${id}::bigint)`

const newestFirst = (db: Tx, appId: string | undefined) =>
  appId === undefined
    ? db`aud.created_at desc, aud.id desc`
    : db`aud.app_id desc, ${timeIn(db, appId)} desc, aud.id desc`
