import type { Tx } from './connection.ts'
import { pipelined } from './pipelined.ts'

/** Runs a statement that may be given less time than the others of its connection. */
export async function withTimeLimit<Rows>(
  db: Tx,
  milliseconds: number | undefined,
  statement: () => PromiseLike<Rows>,
): Promise<Rows> {
  if (milliseconds === undefined) return statement()
  // Sent together, in this order. The last one runs even if the statement fails.
  const [, rows] = await pipelined([
    db`select set_config('statement_timeout', ${String(milliseconds)}, false)`,
    statement(),
    db`reset statement_timeout`,
  ])
  return rows
}
