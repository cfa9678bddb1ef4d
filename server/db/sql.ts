import type { Fragment, Tx } from './client.ts'

/** The name under which others see a deleted user. */
export const DELETED_USER_NAME = 'Deleted user'

/** A pattern for `ilike` that finds a text anywhere, even one with `%`, `_` or `\` in it. */
export const containing = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

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

/** A timestamp within JSON, in the same form as on the wire. */
export const isoTime = (db: Tx, timestamp: Fragment) =>
  db`to_char(${timestamp} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
