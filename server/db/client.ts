import postgres from 'postgres'

/** One connection. Queries are tagged templates; each statement is prepared once, and those not waited for are pipelined. */
export type DbConnection = ReturnType<typeof openConnection>

/** What an operation sees of the database: it can query, but not begin, commit or nest a transaction. */
export type Tx = postgres.ISql

/** A piece of SQL to be put into a query. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
export type PendingWrite = postgres.PendingQuery<postgres.Row[]>

/** How long the database may take. Tests that are about something else give it longer. */
export const patience = {
  /** Whatever the database does, whoever asked is answered within 5 s. */
  callMs: 4_500,
  /** Longer than this no statement runs, nor does it take to connect. */
  statementMs: 4_000,
}
export type Patience = typeof patience
/** A node that has stopped in the middle of a transaction must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 10_000

/** The database, as so many connections that are lent to one piece of work each. */
export type Db = ReturnType<typeof createDb>
type Work<T> = (connection: DbConnection, signal: AbortSignal) => Promise<T>

/**
 * A connection on which work fails for the database's sake, or does not end before its deadline, is closed for good
 * and its place given to a new one: a Postgres.js client whose connection broke may leave a query unsettled for ever.
 */
export function createDb({
  url,
  poolSize,
  patience: { callMs, statementMs } = patience,
  ...options
}: PoolOptions) {
  const places = createSlots(poolSize)
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
    places.leave()
  }

  /** When a call that begins now must have its answer. */
  const newDeadline = () => Date.now() + callMs
  /** Lends a connection. Work that has not ended by `until` fails as UNAVAILABLE, and what it wrote is undone. */
  const use = <T>(work: Work<T>, until = newDeadline()): Promise<T> =>
    before(until, async (late, signal) => {
      await places.take(late)
      const connection = lend()
      try {
        const result = await Promise.race([work(connection, signal), late])
        takeBack(connection)
        return result
      } catch (error) {
        takeBack(connection, error)
        throw error
      }
    })

  const end = async (options: { timeout: number }) =>
    void (await Promise.all([...idle, ...lent].map((connection) => connection.end(options))))
  return { use, end, newDeadline, waiting: places.waiting }
}

/** The database did not answer in time. */
export class DeadlineError extends Error {
  readonly code = 'LATE'
  constructor() {
    super('the database did not answer in time')
  }
}

async function before<T>(
  until: number,
  work: (late: Promise<never>, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const late = new Promise<never>((_, reject) =>
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason)),
  )
  const timer = setTimeout(() => abort.abort(new DeadlineError()), until - Date.now())
  try {
    return await work(late, abort.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** So many may be in at once; the others wait their turn, but not longer than until they are late. */
function createSlots(count: number) {
  const waiting = new Set<() => void>()
  let free = count

  const leave = () => {
    const [next] = waiting
    if (!next) free += 1
    else if (waiting.delete(next)) next()
  }
  const take = async (late: Promise<never>) => {
    if (free > 0) {
      free -= 1
      return
    }
    let enter = () => {}
    const turn = new Promise<void>((resolve) => {
      enter = resolve
      waiting.add(enter)
    })
    try {
      await Promise.race([turn, late])
    } catch (error) {
      const wasLetIn = !waiting.delete(enter)
      if (wasLetIn) leave()
      throw error
    }
  }
  return { take, leave, waiting: () => waiting.size }
}

/** A Postgres.js client of one connection, or of `max`: made when it is first used. */
/** Is told of each statement that is sent, as it is sent. */
type OnStatement = (statement: string) => void
type PoolOptions = {
  url: string
  poolSize: number
  applicationName: string
  onStatement?: OnStatement
  patience?: Patience
}
type ConnectionOptions = {
  url: string
  applicationName: string
  max?: number
  onClose?: () => unknown
  onStatement?: OnStatement | undefined
  statementMs?: number
}

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
    // The look-up of array types fails outside of any query when the connection breaks just then, which ends the process.
    fetch_types: false,
    onnotice: () => {},
    ...(onClose && { onclose: onClose }),
    ...(onStatement && { debug: (_: number, statement: string) => onStatement(statement) }),
    transform: { column: { from: postgres.toCamel } },
    types: { date: isoTimestamps, ...arrays },
    connection: {
      application_name: applicationName,
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    },
  })

/** A connection for work outside the service: migrations, administration. */
export const connectOnce = (url: string) =>
  postgres(url, { ...socketOf(url), max: 1, connect_timeout: 10, onnotice: () => {} })

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

type Element = string | number | boolean | null
const arrayOf = (type: number, parse: (element: string) => Element) => ({
  to: type,
  from: [type],
  serialize: (elements: Element[]) =>
    `{${elements.map((element) => (element === null ? 'NULL' : `"${String(element).replace(/["\\]/g, '\\$&')}"`)).join()}}`,
  parse: (text: string) =>
    [...text.matchAll(/"((?:[^"\\]|\\.)*)"|([^{},]+)/gs)].map(([, quoted, bare = '']) =>
      quoted === undefined
        ? bare === 'NULL'
          ? null
          : parse(bare)
        : parse(quoted.replace(/\\(.)/gs, '$1')),
    ),
})

/** The arrays we send and receive, of one dimension: Postgres.js knows none by itself. */
const arrays = {
  textArray: arrayOf(1009, String),
  uuidArray: arrayOf(2951, String),
  intArray: arrayOf(1007, Number),
  bigintArray: arrayOf(1016, Number),
  boolArray: arrayOf(1000, (element) => element === 't'),
  timestampArray: arrayOf(1185, isoTimestamps.parse),
}

/** Whether an error says that the database is out of reach, stopping, overloaded or too slow, rather than that a query is wrong. */
export const isDatabaseUnavailable = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  (CONNECTION_CODES.has(error.code) || SQLSTATE_TROUBLE.test(error.code))

// biome-ignore format: a list
const CONNECTION_CODES = new Set([
  'LATE', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT',
  'ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT',
])
/** Connection exceptions, resource shortage, operator intervention, system errors, lock timeout, serialization failure, read-only after a fail-over. */
const SQLSTATE_TROUBLE = /^(08|53|57|58)...$|^(55P03|40001|40P01|25006)$/
