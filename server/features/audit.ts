import { type AuditEntry, contract, type Input, limits } from '@parley/contract'
import { type Implements, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { decodeNumberCursor, encodeCursor, toPage } from './cursors.ts'

const list = implementWithoutTransaction(contract.audit.list, ({ db }, filter) =>
  selectEntries(db, filter),
)

const listOfApp = implementWithoutTransaction(contract.audit.listOfApp, ({ db }, filter) =>
  selectEntries(db, filter),
)

export const audit = { list, listOfApp } satisfies Implements<'audit'>

type Filter = Input<typeof contract.audit.list> & { appId?: string }
type Row = Omit<AuditEntry, 'actor'> & {
  actor: AuditEntry['actor']['type']
  keyId: string | null
  userId: string | null
}

/** Looks at a slice of the log, and returns the entries of it that match. */
async function selectEntries(db: Tx, { limit, cursor, ...filter }: Filter) {
  const [slice] = await selectSlice(db, { appId: filter.appId, cursor })
  if (!slice) return { entries: [], nextCursor: null }
  const rows = await db<Row[]>`
    select
      aud.id::text as id, aud.created_at, aud.app_id,
      aud.actor, aud.key_id, aud.user_id,
      aud.operation, aud.target, aud.request_id
    from audit aud
    where ${ofApp(db, filter.appId)}
      and ${isWithin(db, filter.appId, slice)}
      and ${filter.operation === undefined ? db`true` : db`aud.operation = ${filter.operation}`}
      and ${filter.actor === undefined ? db`true` : db`aud.actor = ${filter.actor}`}
      and ${filter.userId === undefined ? db`true` : db`aud.user_id = ${filter.userId}`}
      and ${filter.keyId === undefined ? db`true` : db`aud.key_id = ${filter.keyId}`}
    order by ${newestFirst(db, filter.appId)}
    limit ${limit + 1}`
  const { page, nextCursor } = toPage(rows, limit, ({ id }) => encodeCursor(id, ''))
  const afterSlice = slice.count < limits.auditSlice ? null : encodeCursor(slice.oldest, '')
  return {
    entries: page.map(({ actor: type, keyId, userId, ...entry }) => ({
      ...entry,
      actor: { type, keyId, userId },
    })),
    nextCursor: nextCursor ?? afterSlice,
  }
}

type Slice = { oldest: string; newest: string; count: number }

/** The newest entries after a cursor. */
const selectSlice = (
  db: Tx,
  { appId, cursor }: { appId: string | undefined; cursor: string | undefined },
) => db<Slice[]>`
  select min(aud.id)::text as oldest, max(aud.id)::text as newest, count(*)::int as count
  from (
    select aud.id
    from audit aud
    where ${ofApp(db, appId)}
      and ${cursor === undefined ? db`true` : db`aud.id < ${decodeNumberCursor(cursor)}::bigint`}
    order by ${newestFirst(db, appId)}
    limit ${limits.auditSlice}
  ) aud
  having count(*) > 0`

/**
 * Reads by the index of app and id. If the app were compared with a value instead, the index of all
 * ids would have the same order, and the entries of all other apps would be read.
 */
const ofApp = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`true` : db`aud.app_id = any(array[${appId}::uuid])`
const newestFirst = (db: Tx, appId: string | undefined) =>
  appId === undefined ? db`aud.id desc` : db`aud.app_id desc, aud.id desc`

/** Uses the same index. */
const isWithin = (db: Tx, appId: string | undefined, { oldest, newest }: Slice) =>
  appId === undefined
    ? db`aud.id between ${oldest}::bigint and ${newest}::bigint`
    : db`
      (aud.app_id, aud.id) >= (${appId}, ${oldest}::bigint)
      and (aud.app_id, aud.id) <= (${appId}, ${newest}::bigint)`
