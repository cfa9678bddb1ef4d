import type { Fragment, Tx } from './client.ts'

/** A pattern for `ilike` that finds a text anywhere; its own `%`, `_` and `\` are plain characters. */
export const containing = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** A timestamp within JSON, just as it goes on the wire elsewhere. */
export const isoTime = (db: Tx, timestamp: Fragment) =>
  db`to_char(${timestamp} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
