import { type AuditEntry, contract, type Input, limits } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { decodeNumberCursor, encodeCursor, toFittingPage } from './cursors.ts'

const list = implementWithoutTransaction(contract.audit.list, ({ db }, filter) =>
  selectEntries(db, filter),
)

const listOfApp = implementWithoutTransaction(contract.audit.listOfApp, ({ db }, filter) =>
  selectEntries(db, filter),
)

export const audit = { list, listOfApp } satisfies Implements<'audit'>

type Filter = Input<typeof contract.audit.list> & { appId?: string }
type Row = AuditEntry & { hasNext: true | null }

/** The most bytes of an entry in an answer, apart from texts whose length callers chose. */
const AROUND_BYTES = 400

/**
 * Looks at a slice of the log, and returns those of its entries that match: as many as an answer
 * has room for. An entry may name a thousand users, so what has no room is left in the database.
 */
async function selectEntries(db: Tx, { limit, cursor, ...filter }: Filter) {
  const { appId, createdBefore } = filter
  const before = cursor === undefined ? undefined : decodeNumberCursor(cursor)
  const first = before ?? (createdBefore && (await selectStart(db, { appId, createdBefore })))
  const [slice] = await selectAuditSlice(db, {
    ...{ appId, before: first },
    hasTargets: filter.targetId !== undefined,
  })
  if (!slice) return { entries: [], nextCursor: null }
  const rows = await db<Row[]>`
    select
      aud.id::text as id, aud.created_at, aud.app_id,
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
          and ${isWithin(db, appId, slice)}
          and ${matches(db, filter)}
        order by ${newestFirst(db, appId)}
        limit ${limit + 1}
      ) aud
      window newest as (order by aud.id desc)
    ) aud
    where aud.bytes <= ${limits.answerBytes - limits.cursorLength} or aud.ordinal = 1
    order by aud.id desc`
  const { page, nextCursor } = toFittingPage(rows, limit, ({ id }) => encodeCursor(id, ''))
  const afterSlice = slice.isLast ? null : encodeCursor(slice.oldest, '')
  return { entries: page, nextCursor: nextCursor ?? afterSlice }
}

type Matched = Pick<
  Filter,
  'operation' | 'actor' | 'userId' | 'keyId' | 'targetId' | 'createdBefore'
>

/** Whether entry `aud` matches the filter. Its target is looked at last: it may be long. */
const matches = (
  db: Tx,
  { operation, actor, userId, keyId, targetId, createdBefore }: Matched,
) => db`
  ${operation === undefined ? db`true` : db`aud.operation = ${operation}`}
  and ${actor === undefined ? db`true` : db`aud.actor = ${actor}`}
  and ${userId === undefined ? db`true` : db`aud.user_id = ${userId}`}
  and ${keyId === undefined ? db`true` : db`aud.key_id = ${keyId}`}
  and ${createdBefore === undefined ? db`true` : db`aud.created_at < ${createdBefore}::timestamptz`}
  and ${targetId === undefined ? db`true` : isAbout(db, targetId)}`

/** Whether the target of entry `aud` names something: as a value, or in a list. */
const isAbout = (db: Tx, id: string) => db`
  jsonb_path_exists(aud.target, '$.* ? (@ == $id)', ${db.json({ id })}::jsonb)`

/** A search reads no further target after this many bytes of them, as stored (compressed). */
const TARGET_BYTES = 1_048_576

type AuditSlice = { oldest: string; newest: string; isLast: boolean }
type SliceOptions = {
  appId: string | undefined
  before: string | undefined
  /** Whether the search reads the targets, so that their bytes are limited. */
  hasTargets: boolean
}

/** The newest entries with ids before this one. The sizes of targets are known without them. */
const selectAuditSlice = (db: Tx, { appId, before, hasTargets }: SliceOptions) => db<AuditSlice[]>`
  select
    min(aud.id) filter (where aud.is_within)::text as oldest,
    max(aud.id)::text as newest,
    bool_and(aud.is_within) and count(*) < ${limits.auditSlice} as is_last
  from (
    select
      aud.id,
      sum(aud.stored) over (order by aud.id desc) - aud.stored < ${TARGET_BYTES} as is_within
    from (
      select aud.id, ${hasTargets ? db`pg_column_size(aud.target)` : db`0`} as stored
      from audit aud
      where ${ofApp(db, appId)}
        and ${before === undefined ? db`true` : db`aud.id < ${before}::bigint`}
      order by ${newestFirst(db, appId)}
      limit ${limits.auditSlice}
    ) aud
  ) aud
  having count(*) > 0`

/**
 * An id with all entries before a time before it. The times of entries follow their ids but for
 * the length of a transaction, and a minute is longer than any: so a search by halves finds it, in
 * as many steps as the highest id has bits.
 */
async function selectStart(
  db: Tx,
  { appId, createdBefore }: { appId: string | undefined; createdBefore: string },
) {
  const [found] = await db<{ id: string }[]>`
    with recursive search as (
      select 0::bigint as low, coalesce(newest.id, 0) + 1 as high
      from (
        select max(aud.id) as id
        from audit aud
      ) newest
      union all
      select
        case when probe.is_before then probe.id else search.low end,
        case when probe.is_before then search.high else middle.id end
      from search
      cross join lateral (
        select search.low + (search.high - search.low) / 2 as id
      ) middle
      left join lateral (
        select
          aud.id,
          aud.created_at < ${createdBefore}::timestamptz + interval '1 minute' as is_before
        from audit aud
        where ${ofApp(db, appId)}
          and aud.id >= middle.id
        order by ${oldestFirst(db, appId)}
        limit 1
      ) probe on true
      where search.high - search.low > 1
    )
    select min(search.high)::text as id
    from search`
  return found?.id
}

/**
 * Makes PostgreSQL use the index of app and id. With `app_id = …` the index of ids alone has the
 * same order, and it may read the entries of all other apps.
 */
const ofApp = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`true` : db`aud.app_id = any(array[${appId}::uuid])`
const newestFirst = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`aud.id desc` : db`aud.app_id desc, aud.id desc`
const oldestFirst = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`aud.id` : db`aud.app_id, aud.id`

/** Uses the same index. */
const isWithin = (db: Tx, appId: string | undefined, { oldest, newest }: AuditSlice) =>
  appId === undefined
    ? db`aud.id between ${oldest}::bigint and ${newest}::bigint`
    : db`
      (aud.app_id, aud.id) >= (${appId}, ${oldest}::bigint)
      and (aud.app_id, aud.id) <= (${appId}, ${newest}::bigint)`
