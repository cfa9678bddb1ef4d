import postgres from 'postgres'
import type { pacedSockets } from './paced-sockets.ts'
import { connectionName } from './schema-name.ts'
import type { singleSocket } from './single-socket.ts'
import { readTls } from './tls.ts'
import { valueTypes } from './value-types.ts'
import { withWholeAnswers } from './whole-answers.ts'

/** The database for operations: they can query, but not begin, commit or nest transactions. */
export type Tx = postgres.ISql & Pick<postgres.Sql, 'options'>

/**
 * One connection. Queries are tagged templates. Each statement is prepared once; statements that
 * are not awaited are pipelined. Transactions are run by `transaction`.
 */
export type DbConnection = Tx & Pick<postgres.Sql, 'end'>

/** How long to wait for the database. */
export const patience = {
  /** The time of a call. Leaves room to answer within 10 s even on a busy machine. */
  callMs: 4_500,
  /** The longest that a statement may run, or that connecting may take. */
  statementMs: 4_000,
}
export type Patience = typeof patience & {
  /** How long the database waits for the next statement of a transaction, if not as below. */
  idleInTransactionMs?: number | undefined
}
/**
 * The longest pause between two statements of a transaction. A node that is cut off in the middle
 * of one holds its locks, and so stops a channel for everybody, for this long.
 */
export const IDLE_IN_TRANSACTION_MS = 2_000
/**
 * The longest that the server waits for a client to acknowledge what was sent to it: then it ends
 * the session and releases its locks. It is a setting of the server's socket only, and Node cannot
 * set it for ours. On this side deadlines, beats and keep-alive find a silent connection.
 */
const UNACKNOWLEDGED_MS = 10_000
/** How soon the system checks whether the other end of a silent connection is still there. */
const KEEP_ALIVE_SECONDS = 10
/**
 * Lets the server find out soon that a client is gone, and free its locks and its place among the
 * connections. By default it takes more than two hours.
 */
export const goneClients = {
  tcp_user_timeout: UNACKNOWLEDGED_MS,
  tcp_keepalives_idle: KEEP_ALIVE_SECONDS,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
}
/** Outside the pools, transactions are those of migrations and commands, on whatever machine. */
export const IDLE_OUTSIDE_POOLS_MS = 30_000

/** Called with each statement as it is sent. */
export type OnStatement = (statement: string) => void
type DbConnectionOptions = {
  url: string
  applicationName: string
  max?: number
  /** How to make a socket, when it may be made only once. */
  socket?: ReturnType<typeof singleSocket>
  onClose?: () => unknown
  onStatement?: OnStatement | undefined
  statementMs?: number
  idleInTransactionMs?: number | undefined
  /** Null: it has no end. By default it ends after 30 to 60 minutes, in a transaction, too. */
  lifetime?: null
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
  // Plans do not depend on the parameters: planning took longer than running most of them.
  plan_cache_mode: 'force_generic_plan',
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
  idleInTransactionMs = IDLE_IN_TRANSACTION_MS,
  lifetime,
}: DbConnectionOptions) => {
  const sql = postgres(readTls(url).url, {
    ...serverOf(url),
    max,
    ...(socket && { socket }), // documented, but missing in its types
    ...(lifetime === null && { max_lifetime: lifetime }),
    connect_timeout: statementMs / 1000,
    keep_alive: KEEP_ALIVE_SECONDS,
    // If the connection breaks during the look-up of array types, the error is thrown outside of
    // any query and ends the process.
    fetch_types: false,
    onnotice: () => {},
    ...(onClose && { onclose: onClose }),
    transform: { column: { from: postgres.toCamel } },
    types: valueTypes,
    connection: {
      application_name: connectionName(applicationName, url),
      TimeZone: 'UTC',
      // `value-types.ts` reads no other dates, whatever the role or the database prefers.
      DateStyle: 'ISO',
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: idleInTransactionMs,
      ...planner,
      ...goneClients,
    },
  })
  // Given from the start, each query and each fragment of one would keep a stack: a tenth of all
  // CPU time. Connections ask for it with each statement.
  if (onStatement) sql.options.debug = (_, statement) => onStatement(statement)
  return withWholeAnswers(sql)
}

type OnceOptions = {
  socket?: ReturnType<typeof singleSocket> | ReturnType<typeof pacedSockets>['open']
  /** The seconds before the next connection, beside the pauses of `socket`. */
  backoff?: () => number
  applicationName?: string
  fetch_types?: boolean
}

/** A connection outside the pools: to listen, for migrations and administration. */
export const connectOnce = (url: string, { applicationName, ...options }: OnceOptions = {}) =>
  withWholeAnswers(
    postgres(readTls(url).url, {
      ...serverOf(url),
      ...options,
      max: 1,
      connect_timeout: 10,
      keep_alive: KEEP_ALIVE_SECONDS,
      onnotice: () => {},
      connection: {
        ...(applicationName && { application_name: connectionName(applicationName, url) }),
        idle_in_transaction_session_timeout: IDLE_OUTSIDE_POOLS_MS,
        ...goneClients,
      },
    }),
  )

/**
 * How to encrypt, and the socket directory of a URL like `postgres://user@%2Frun/name`, which
 * Postgres.js ignores.
 */
function serverOf(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  return { ssl: readTls(url).ssl, ...(host.startsWith('/') && { host }) }
}
