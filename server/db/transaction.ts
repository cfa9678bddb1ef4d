import type { Tx } from './client.ts'

/**
 * Runs `work` in a transaction on a lent connection. Nothing is committed if it fails.
 *
 * This is not the `begin` of Postgres.js, which writes its rollback to the socket of a closed
 * connection, in a timer: the process dies of that. It is safe because a lent connection does not
 * reconnect (see single-socket.ts) and runs nothing else meanwhile.
 */
export async function transaction<T>(db: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  await db`begin`
  let result: T
  try {
    result = await work(db)
  } catch (error) {
    await db`rollback`
    throw error
  }
  // PostgreSQL answers ROLLBACK to the commit of a transaction in which a statement has failed.
  const { command } = await db`commit`
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement failed')
  return result
}
