import type { Tx } from './client.ts'

/**
 * Runs `work` in a transaction on a lent connection. Nothing is committed if it fails.
 *
 * This is not the `begin` of Postgres.js, which writes its rollback to the socket of a closed
 * connection, in a timer: the process dies of that. It is safe because a lent connection does not
 * reconnect (see single-socket.ts) and runs nothing else meanwhile.
 */
export const transaction = <T>(db: Tx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  transactionAtOnce(db, async (tx, begun) => {
    await begun
    return work(tx)
  })

/**
 * The same, but does not wait until the transaction has begun: the first statements of `work`
 * travel with `begin`. Until `begun` resolves they may only read and lock. If `begin` fails, they
 * have run outside of any transaction, and `work` must have changed nothing.
 *
 * Once all other statements were sent, `work` may send the commit behind them, and saves a round
 * trip. It must wait for it together with them.
 */
export async function transactionAtOnce<T>(
  db: Tx,
  work: (tx: Tx, begun: Promise<unknown>, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  let committed: Promise<void> | undefined
  const commit = () => {
    committed ??= commitTransaction(db)
    return committed
  }
  let result: T
  try {
    result = await work(db, db`begin`.execute(), commit)
  } catch (error) {
    await db`rollback`
    throw error
  }
  await commit()
  return result
}

/** PostgreSQL answers ROLLBACK to the commit of a transaction in which a statement has failed. */
async function commitTransaction(db: Tx) {
  const { command } = await db`commit`
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: a statement failed')
}
