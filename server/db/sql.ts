import type { Fragment, Tx } from './client.ts'

/** The name under which others see a deleted user. */
export const DELETED_USER_NAME = 'Deleted user'

/**
 * Whether a text has a part, in upper or lower case. As `ilike` has it, which compares the whole
 * part at each position of a text of repeated characters, in many times the time.
 */
export const hasPart = (db: Tx, text: Fragment, part: string) =>
  db`strpos(lower(${text}), lower(${part})) > 0`

/**
 * A piece of SQL without values of a call, made once: each piece is a promise to Postgres.js, and
 * the pieces of a large statement cost more than to write it and send it.
 */
export function constant(make: (db: Tx) => Fragment) {
  let made: Fragment | undefined
  return (db: Tx) => {
    made ??= make(db)
    return made
  }
}

/**
 * The number of the snapshot that a statement reads. Each snapshot sees what all before it have
 * seen: one that sees more has a higher number, and two with the same number see the same. Of no
 * use in a transaction that has written: what it has written it sees, whatever the number.
 *
 * It is the transaction that follows the last one to end, in steps of 8,192, less how many before
 * that are still open. Those after the 8,191st, and neighbors beyond 2^40 transactions, share a
 * number. A database that is loaded from a dump begins again at a low one.
 */
export const snapshotNumber = constant(
  (db) => db`(
    select
      pg_snapshot_xmax(seen)::text::float8 * 8192
      - (select least(count(*), 8191) from pg_snapshot_xip(seen))
    from pg_current_snapshot() seen
  )`,
)

/** Whether channels of a type are open: everyone in the app reads them. */
export const isOpenType = (db: Tx, type: Fragment) => db`${type} in ('public', 'livestream')`

/** The state of channel `c`. `importing`: only imports see it, until they are finished. */
export const stateOfChannel = (db: Tx) => db`
  case
    when c.deleted_at is null then 'active'
    when c.deleted_at = 'infinity' then 'importing'
    else 'deleted'
  end`

/** The lowest and the highest id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

type IdRange = {
  appId: string
  after?: string | undefined
  before?: string | undefined
  last?: string | undefined
}

/**
 * Rows of an app whose ids are within a range, for a query that orders by app and id, so that the
 * index of both is used. With `app_id = …` PostgreSQL may use the index of ids alone, which has the
 * same order then, and read the rows of all other apps. It would do so for a range of ids as well,
 * from which it expects few rows: so `after` and `last` compare app and id.
 */
export function inApp(db: Tx, row: Fragment, { appId, after, before, last }: IdRange) {
  const key = db`(${row}.app_id, ${row}.id)`
  return db`(
    ${row}.app_id = any(array[${appId}::uuid])
    ${after === undefined ? db`` : db`and ${key} > (${appId}::uuid, ${after}::uuid)`}
    ${before === undefined ? db`` : db`and ${row}.id < ${before}::uuid`}
    ${last === undefined ? db`` : db`and ${key} <= (${appId}::uuid, ${last}::uuid)`}
  )`
}

/** A value as a parameter of type jsonb. */
export const jsonOf = (db: Tx, value: object) => db.json(value as never) // rows are JSON as well

/** A timestamp within JSON, in the same form as on the wire. */
export const isoTime = (db: Tx, timestamp: Fragment) =>
  db`to_char(${timestamp} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
