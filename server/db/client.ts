import postgres from 'postgres'
import { ConnectionClosedError, singleSocket } from './single-socket.ts'
import { createSlots } from './slots.ts'
import { readTls } from './tls.ts'
import { valueTypes } from './value-types.ts'

/** The database, as a pool of connections. Each piece of work has one of them to itself. */
export type Db = ReturnType<typeof createDb>

/** The database for operations: they can query, but not begin, commit or nest transactions. */
export type Tx = postgres.ISql

/**
 * One connection. Queries are tagged templates. Each statement is prepared once; statements that
 * are not awaited are pipelined. Transactions are run by `transaction`.
 */
export type DbConnection = Tx & Pick<postgres.Sql, 'end'>

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
/**
 * The longest pause between two statements of a transaction. A node that is cut off in the middle
 * of one holds its locks, and so stops a channel for everybody, for this long.
 */
const IDLE_IN_TRANSACTION_MS = 2_000
/** The longest that the server waits for a client to acknowledge what was sent to it. */
const UNACKNOWLEDGED_MS = 10_000
/** How soon the system checks whether the other end of a silent connection is still there. */
const KEEP_ALIVE_SECONDS = 10

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

/** A connection of a pool. `closed` rejects when it is closed, by whichever side. */
type PooledConnection = { sql: DbConnection; isOpen: () => boolean; closed: Promise<never> }

/**
 * Opens a pool. A connection that is closed never reconnects: the work that has it is rejected, and
 * its slot goes to a new one. It is also closed when the database fails its work, or the work
 * misses its deadline, since a Postgres.js client may then leave a query unsettled forever.
 */
export function createDb({
  url,
  poolSize,
  patience: { callMs, statementMs } = patience,
  ...options
}: DbOptions) {
  const slots = createSlots(poolSize)
  const lent = new Set<PooledConnection>()
  const idle = new Set<PooledConnection>()

  const open = () => {
    const life = new AbortController()
    const sql: DbConnection = openConnection({
      url,
      statementMs,
      ...options,
      socket: singleSocket(),
      onClose: () => {
        idle.delete(connection)
        life.abort(new ConnectionClosedError())
        void sql.end({ timeout: 0 })
      },
    })
    const closed = rejectionOf(life.signal)
    const connection = { sql, isOpen: () => !life.signal.aborted, closed }
    return connection
  }
  const lend = () => {
    const [connection = open()] = idle
    idle.delete(connection)
    lent.add(connection)
    return connection
  }
  const takeBack = (connection: PooledConnection, error?: unknown) => {
    lent.delete(connection)
    if (isDatabaseUnavailable(error)) void connection.sql.end({ timeout: 0 })
    else if (connection.isOpen()) idle.add(connection)
    slots.release()
  }

  /** The time, by `performance.now()`, by which a call that starts now must be answered. */
  const newDeadline = () => performance.now() + callMs
  /**
   * Lends a connection. Work that has not finished at `until` is rejected with a DeadlineError, and
   * work whose connection is closed with a ConnectionClosedError. Its transaction does not commit,
   * unless the answer to the commit is what was lost.
   */
  const use = <T>(work: Work<T>, until = newDeadline()): Promise<T> =>
    withDeadline(until, async (expired, signal) => {
      await slots.acquire(expired)
      const connection = lend()
      try {
        const result = await Promise.race([
          work(connection.sql, signal),
          expired,
          connection.closed,
        ])
        takeBack(connection)
        return result
      } catch (error) {
        takeBack(connection, error)
        throw error
      }
    })

  const end = async (options: { timeout: number }) => {
    await Promise.all([...idle, ...lent].map(({ sql }) => sql.end(options)))
  }
  return { use, end, newDeadline, waiting: slots.waiting }
}

/** Rejects with the reason of the signal, once it aborts. Nobody has to wait for it. */
function rejectionOf(signal: AbortSignal) {
  const rejection = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason)),
  )
  rejection.catch(() => {})
  return rejection
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
  const expired = rejectionOf(abort.signal)
  const timer = setTimeout(() => abort.abort(new DeadlineError()), until - performance.now())
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
  /** How to make a socket, when it may be made only once. */
  socket?: ReturnType<typeof singleSocket>
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
  socket,
  onClose,
  onStatement,
  statementMs = patience.statementMs,
}: ConnectionOptions) =>
  postgres(readTls(url).url, {
    ...serverOf(url),
    max,
    ...(socket && { socket }), // documented, but missing in its types
    connect_timeout: statementMs / 1000,
    keep_alive: KEEP_ALIVE_SECONDS,
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
      tcp_user_timeout: UNACKNOWLEDGED_MS,
    },
  })

/** A connection for work outside the service: migrations and administration. */
export const connectOnce = (
  url: string,
  options: Pick<ConnectionOptions, 'socket'> & { fetch_types?: boolean } = {},
) =>
  postgres(readTls(url).url, {
    ...serverOf(url),
    ...options,
    max: 1,
    connect_timeout: 10,
    keep_alive: KEEP_ALIVE_SECONDS,
    onnotice: () => {},
  })

/**
 * How to encrypt, and the socket directory of a URL like `postgres://user@%2Frun/name`, which
 * Postgres.js ignores.
 */
function serverOf(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  return { ssl: readTls(url).ssl, ...(host.startsWith('/') && { host }) }
}

/**
 * Whether an error means that the database is out of reach, stopping, overloaded or too slow,
 * rather than that a query is wrong.
 */
export const isDatabaseUnavailable = (error: unknown) =>
  isConnectionLost(error) || UNAVAILABLE_SQLSTATES.test(codeOf(error))

/** Whether the connection is gone, or the time of the work that has it. */
export const isConnectionLost = (error: unknown) => CONNECTION_CODES.has(codeOf(error))

/** Whether the database has cancelled a statement that ran for too long. */
export const isStatementTimeout = (error: unknown) => codeOf(error) === '57014'

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

// biome-ignore format: a table of codes
const CONNECTION_CODES = new Set([
  'DEADLINE_EXCEEDED',
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH',
  'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
])
/**
 * Connection exceptions, resource shortage, operator intervention, system errors; lock timeout,
 * serialization failure, deadlock, read-only transactions after a fail-over, transactions that were
 * idle or open for too long, and a database that accepts no connections.
 */
const UNAVAILABLE_SQLSTATES = /^(08|53|57|58)...$|^(55P03|40001|40P01|25006|25P03|25P04|55000)$/
