/**
 * Whether an error means that the database is out of reach, stopping, overloaded or too slow,
 * rather than that a query is wrong.
 */
export const isDatabaseUnavailable = (error: unknown) =>
  isConnectionLost(error) || UNAVAILABLE_SQLSTATES.test(codeOf(error))

/**
 * Whether it is the database that fails, for everybody, and not one statement for which others are
 * in the way or which takes too long. Such an outage has a line of the log of its own.
 */
export const isOutage = (error: unknown) => isDatabaseUnavailable(error) && !isBlocked(error)

/** Whether a write was refused because the database's disk has no room; reads are served. */
export const isDiskFull = (error: unknown) => codeOf(error) === '53100'

/** Whether the connection is gone, or the time of the work that has it. */
export const isConnectionLost = (error: unknown) => CONNECTION_CODES.has(codeOf(error))

/**
 * Whether a statement ran for too long: the database has cancelled it, or would have, had the work
 * not waited for its connection before.
 */
export const isStatementTimeout = (error: unknown) => codeOf(error) === '57014' || isCutShort(error)

/** Whether a row with the same key was there, or committed while the statement waited for it. */
export const isDuplicate = (error: unknown) => codeOf(error) === '23505'

/** Whether work waited so long for its connection that no statement of it had the time to run. */
const isCutShort = (error: unknown) =>
  error instanceof Error && 'isCutShort' in error && error.isCutShort === true

/**
 * Whether the database answered that other work was in the way: locked rows, a deadlock, or a
 * statement that took too long because of them.
 */
export const isBlocked = (error: unknown) => BLOCKED_SQLSTATES.has(codeOf(error))

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

// biome-ignore format: a table of codes
const CONNECTION_CODES = new Set([
  'DEADLINE_EXCEEDED',
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH',
  'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
  // This process has no descriptor, port or memory left for another connection.
  'EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENETDOWN',
])
const BLOCKED_SQLSTATES = new Set(['57014', '55P03', '40001', '40P01'])
/**
 * Connection exceptions, resource shortage, operator intervention, system errors; lock timeout,
 * serialization failure, deadlock, read-only transactions after a fail-over, transactions that were
 * idle or open for too long, and a database that accepts no connections.
 */
const UNAVAILABLE_SQLSTATES = /^(08|53|57|58)...$|^(55P03|40001|40P01|25006|25P03|25P04|55000)$/
