import postgres from 'postgres'

/** Queries are tagged templates; Postgres.js prepares each statement once a connection and pipelines those not waited for. */
export type Db = ReturnType<typeof connect>

/** What an operation sees of the database: it can query, but not begin, commit or nest a transaction. */
export type Tx = postgres.ISql

/** A piece of SQL to be put into a query. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
export type PendingWrite = postgres.PendingQuery<postgres.Row[]>

/** Longer than this no statement runs; whoever waits for it is answered UNAVAILABLE at about the same time. */
const STATEMENT_TIMEOUT_MS = 4_000

export const connect = ({ url, poolSize, applicationName }: { url: string; poolSize: number; applicationName: string }) =>
  postgres(url, {
    ...socketOf(url),
    max: poolSize,
    connect_timeout: STATEMENT_TIMEOUT_MS / 1000,
    backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 1),
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel } },
    types: { date: isoTimestamps },
    connection: { application_name: applicationName, statement_timeout: STATEMENT_TIMEOUT_MS },
  })

/** A connection for work outside the service: migrations, administration. */
export const connectOnce = (url: string) => postgres(url, { ...socketOf(url), max: 1, onnotice: () => {} })

/** The unix socket of an address like `postgres://user@%2Frun%2Fpostgres/name`, which Postgres.js does not read itself. */
function socketOf(url: string) {
  const host = decodeURIComponent(new URL(url).hostname)
  return host.startsWith('/') ? { host } : {}
}

/** Timestamps leave the database as they go on the wire. */
const isoTimestamps = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: string | Date) => (value instanceof Date ? value.toISOString() : value),
  parse: (value: string) => new Date(value).toISOString(),
}

/** Whether an error says that the database is out of reach, stopping, overloaded or too slow, rather than that a query is wrong. */
export const isDatabaseTrouble = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && (CONNECTION_CODES.has(error.code) || SQLSTATE_TROUBLE.test(error.code))

const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT',
]) // biome-ignore format: a list
/** Connection exceptions, resource shortage, operator intervention, system errors, lock timeout, serialization failure, read-only after a fail-over. */
const SQLSTATE_TROUBLE = /^(08|53|57|58)...$|^(55P03|40001|40P01|25006)$/
