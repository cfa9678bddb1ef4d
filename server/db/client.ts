import type postgres from 'postgres'
import { createOutages } from './outages.ts'
import { createPool, type PoolOptions } from './pool.ts'

export {
  isConnectionLost,
  isDatabaseUnavailable,
  isDiskFull,
  isDuplicate,
  isOutage,
  isStatementTimeout,
} from './availability.ts'
export {
  connectOnce,
  type DbConnection,
  openConnection,
  type Patience,
  patience,
  type Tx,
} from './connection.ts'
export { type Deadline, DeadlineError } from './pool.ts'

/** The database, as a pool of connections. Each piece of work has one of them to itself. */
export type Db = ReturnType<typeof createDb>

/** Whether a database that answers refuses writes because its disk is full. */
export type DatabaseState = { isDiskFull: boolean }

/** A piece of SQL to be put into a query. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
export type PendingWrite = postgres.PendingQuery<postgres.Row[]>

/**
 * Opens the pool, and keeps two connections apart: one to see whether the database answers, and one
 * for the work of the node itself.
 */
export function createDb(given: Omit<PoolOptions, 'outages'>) {
  const outages = createOutages()
  const options = { ...given, outages }
  const { use, newDeadline, waiting, longestMs, end } = createPool(options)
  const apart = createPool({ ...options, poolSize: 1 })
  const looking = createPool({ ...options, poolSize: 1 })
  let asked: Promise<DatabaseState> | undefined
  /** Rejects if the database does not answer. Calls made meanwhile share the answer. */
  const ping = () => {
    asked ??= looking
      .use((db) => db`select 1`)
      .then(() => ({ isDiskFull: outages.isDiskFull() }))
      .finally(() => {
        asked = undefined
      })
    return asked
  }
  return {
    use,
    newDeadline,
    waiting,
    longestMs,
    ping,
    /**
     * Work that must not wait until others give a connection of the pool back: heartbeats, and the
     * end of stuck sessions.
     */
    useApart: apart.use,
    outages,
    poolSize: options.poolSize,
    end: async (within: { timeout: number }) => {
      await Promise.all([end(within), apart.end(within), looking.end(within)])
    },
  }
}
