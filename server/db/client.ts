import postgres from 'postgres'
import { createSlots } from './slots.ts'
import { valueTypes } from './value-types.ts'

/** The database, as a pool of connections. Each piece of work has one of them to itself. */
export type Db = ReturnType<typeof createDb>

/**
 * One connection. Queries are tagged templates. Each statement is prepared once; statements that
 * are not awaited are pipelined.
 */
export type DbConnection = ReturnType<typeof openConnection>

/** The database for operations: they can query, but not begin, commit or nest transactions. */
export type Tx = postgres.ISql

/** A piece of SQL to be put into a query. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
export type PendingWrite = postgres.PendingQuery<postgres.Row[]>

/** How long to wait for the database. */
export const patience = {
  /** Every call is answered within 5 s, whatever the database does. */
  callMs: 4_500,
  /** The longest that a statement may run, or that connecting may take. */
  statementMs: 4_000,
}
export type Patience = typeof patience
/** A node that hangs in the middle of a transaction must not hold its locks forever. */
const IDLE_IN_TRANSACTION_MS = 10_000

/** Called with each statement as it is sent. */
type OnStatement = (statement: string) => void
type DbOptions = {
  url: string
  poolSize: number
  applicationName: string
  onStatement?: OnStatement
  patience?: Patience
}
type Work<T> = (connection: DbConnection, signal: AbortSignal) => Promise<T>

/**
 * Opens a pool. A connection is closed for good, and its slot goes to a new one, when the database
 * fails its work or the work misses its deadline: a Postgres.js client whose connection broke may
 * leave a query unsettled forever.
 */
export function createDb({
  url,
  poolSize,
  patience: { callMs, statementMs } = patience,
  ...options
}: DbOptions) {
  const slots = createSlots(poolSize)
  const lent = new Set<DbConnection>()
  const idle = new Set<DbConnection>()

  const open = () => {
    const connection: DbConnection = openConnection({
      url,
      statementMs,
      ...options,
      onClose: () => idle.delete(connection),
    })
    return connection
  }
  const lend = () => {
    const [connection = open()] = idle
    idle.delete(connection)
    lent.add(connection)
    return connection
  }
  const takeBack = (connection: DbConnection, error?: unknown) => {
    lent.delete(connection)
    if (isDatabaseUnavailable(error)) void connection.end({ timeout: 0 })
    else idle.add(connection)
    slots.release()
  }

  /** The time by which a call that starts now must be answered. */
  const newDeadline = () => Date.now() + callMs
  /**
   * Lends a connection. Work that has not finished at `until` is rejected with a DeadlineError, and
   * its transaction does not commit.
   */
  const use = <T>(work: Work<T>, until = newDeadline()): Promise<T> =>
    withDeadline(until, async (expired, signal) => {
      await slots.acquire(expired)
      const connection = lend()
      try {
        const result = await Promise.race([work(connection, signal), expired])
        takeBack(connection)
        return result
      } catch (error) {
        takeBack(connection, error)
        throw error
      }
    })

  const end = async (options: { timeout: number }) => {
    await Promise.all([...idle, ...lent].map((connection) => connection.end(options)))
  }
  return { use, end, newDeadline, waiting: slots.waiting }
}

/** The database did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  readonly code = 'DEADLINE_EXCEEDED'
  constructor() {
    super('the database did not answer in time')
  }
}

/** Runs `work` with a promise that rejects, and a signal that aborts, at the deadline. */
async function withDeadline<T>(
  until: number,
  work: (expired: Promise<never>, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const expired = new Promise<never>((_, reject) =>
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason)),
  )
  const timer = setTimeout(() => abort.abort(new DeadlineError()), until - Date.now())
  try {
    return await work(expired, abort.signal)
  } finally {
    clearTimeout(timer)
  }
}

type ConnectionOptions = {
  url: string
  applicationName: string
  max?: number
  onClose?: () => unknown
  onStatement?: OnStatement | undefined
  statementMs?: number
}

/**
 * Every statement finds its rows by keys, however few rows its tables have when it is prepared and
 * whatever the statistics say later: no table is read from end to end, for a join or otherwise.
 */
const planner = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}

/** A Postgres.js client of one connection, or of `max`. It connects when it is first used. */
export const openConnection = ({
  url,
  applicationName,
  max = 1,
  onClose,
  onStatement,
  statementMs = patience.statementMs,
}: ConnectionOptions) =>
  postgres(url, {
    ...socketOf(url),
    max,
    connect_timeout: statementMs / 1000,
    // If the connection breaks during the look-up of array types, the error is thrown outside of
    // any query and ends the process.
    fetch_types: false,
    onnotice: () => {},
    ...(onClose && { onclose: onClose }),
    ...(onStatement && { debug: (_: number, statement: string) => onStatement(statement) }),
    transform: { column: { from: postgres.toCamel } },
    types: valueTypes,
    connection: {
      application_name: applicationName,
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      ...planner,
    },
  })

/** A connection for work outside the service: migrations and administration. */
export const connectOnce = (url: string) =>
  postgres(url, { ...socketOf(url), max: 1, connect_timeout: 10, onnotice: () => {} })

/** The socket directory of a URL like `postgres://user@%2Frun/name`, which Postgres.js ignores. */
function socketOf(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  return host.startsWith('/') ? { host } : {}
}

/**
 * Whether an error means that the database is out of reach, stopping, overloaded or too slow,
 * rather than that a query is wrong.
 */
export const isDatabaseUnavailable = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  (CONNECTION_CODES.has(error.code) || UNAVAILABLE_SQLSTATES.test(error.code))

// biome-ignore format: a table of codes
const CONNECTION_CODES = new Set([
  'DEADLINE_EXCEEDED',
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH',
  'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
])
/**
 * Connection exceptions, resource shortage, operator intervention, system errors; lock timeout,
 * serialization failure, deadlock, and read-only transactions after a fail-over.
 */
const UNAVAILABLE_SQLSTATES = /^(08|53|57|58)...$|^(55P03|40001|40P01|25006)$/
