import { isDatabaseUnavailable } from './availability.ts'
import {
  type DbConnection,
  type OnStatement,
  openConnection,
  type Patience,
  patience,
} from './connection.ts'
import type { Outages } from './outages.ts'
import { ConnectionClosedError, singleSocket } from './single-socket.ts'
import { createSlots } from './slots.ts'

export type PoolOptions = {
  url: string
  poolSize: number
  applicationName: string
  onStatement?: OnStatement
  patience?: Patience
  outages?: Pick<Outages, 'worked' | 'failed'>
  around?: Around | undefined
}
/** Runs around each use of a connection, and gets its statements. */
export type Around = <T>(run: (note?: OnStatement) => Promise<T>) => Promise<T>
type Work<T> = (connection: DbConnection, deadline: Deadline) => Promise<T>

/** A connection of a pool. */
type PooledConnection = {
  sql: DbConnection
  isOpen: boolean
  /** Called when it is closed, by whichever side, while it is lent. */
  onClosed: (error: Error) => void
  lentAt: number
  /** Called with each statement while it is lent. */
  note?: OnStatement | undefined
  /** When the work that last had it was done. */
  workedAt: number
}

/**
 * Opens a pool. A connection that is closed never reconnects: the work that has it is rejected, and
 * its slot goes to a new one. It is also closed when the database fails its work, or the work
 * misses its deadline, since a Postgres.js client may then leave a query unsettled forever. In the
 * latter case the network may have lost all connections silently, so those that did not work since
 * are closed as well: otherwise each would cost a call that waits until its own deadline.
 */
export function createPool({
  poolSize,
  patience: { callMs, statementMs, idleInTransactionMs } = patience,
  outages,
  around = (run) => run(),
  ...options
}: PoolOptions) {
  const { acquire, release, waiting } = createSlots(poolSize)
  const connections = createConnections({ ...options, statementMs, idleInTransactionMs })
  const lend: typeof connections.lend = (onClosed) => {
    try {
      return connections.lend(onClosed)
    } catch (error) {
      // It could not be opened: the file of a certificate is missing, for example.
      release()
      throw error
    }
  }

  /** The time, by `performance.now()`, by which a call that starts now must be answered. */
  const newDeadline = () => performance.now() + callMs
  /**
   * Lends a connection. Work that has not finished at `until` is rejected with a DeadlineError, and
   * work whose connection is closed with a ConnectionClosedError. Its transaction does not commit,
   * unless the answer to the commit is what was lost.
   */
  const use = <T>(work: Work<T>, until = newDeadline()): Promise<T> =>
    withDeadline(until, async ({ failed, fail, deadline }) => {
      // Work like a cleanup ends at its deadline although the database answers.
      const isLong = until > newDeadline()
      await acquire(failed)
      const connection = lend(fail)
      try {
        const result = await around((note) => {
          connection.note = note
          return Promise.race([work(connection.sql, deadline), failed])
        })
        connections.takeBack(connection)
        outages?.worked()
        return result
      } catch (error) {
        const { missed } = deadline
        if (missed && error === missed)
          missed.isCutShort = performance.now() - connection.lentAt < statementMs
        connections.takeBack(connection, error)
        if (!(isLong && error instanceof DeadlineError)) outages?.failed(error)
        throw error
      } finally {
        release()
      }
    })
  return { use, end: connections.end, newDeadline, waiting, longestMs: connections.longestMs }
}

type ConnectionsOptions = Omit<PoolOptions, 'poolSize' | 'patience' | 'outages'> & {
  statementMs: number
  idleInTransactionMs: number | undefined
}

/** The open connections of a pool: idle ones are lent first, the latest before all. */
function createConnections(options: ConnectionsOptions) {
  /** The connections in use; the one lent first comes first. */
  const lent = new Set<PooledConnection>()
  /** The connections not in use; the one used last comes last. */
  const idle = new Set<PooledConnection>()

  const open = () => {
    const sql: DbConnection = openConnection({
      ...options,
      onStatement: (statement) => {
        options.onStatement?.(statement)
        connection.note?.(statement)
      },
      socket: singleSocket(),
      onClose: () => {
        idle.delete(connection)
        connection.isOpen = false
        connection.onClosed(new ConnectionClosedError())
        void sql.end({ timeout: 0 })
      },
    })
    const connection: PooledConnection = {
      sql,
      isOpen: true,
      onClosed: () => {},
      lentAt: 0,
      workedAt: 0,
    }
    return connection
  }
  const closeSilent = (since: number) => {
    for (const connection of [...idle].filter(({ workedAt }) => workedAt < since)) {
      idle.delete(connection)
      void connection.sql.end({ timeout: 0 })
    }
  }
  return {
    lend: (onClosed: PooledConnection['onClosed']) => {
      // The latest has prepared its statements and has their tables at hand.
      const connection = [...idle].at(-1) ?? open()
      connection.onClosed = onClosed
      idle.delete(connection)
      lent.add(connection)
      connection.lentAt = performance.now()
      return connection
    },
    takeBack: (connection: PooledConnection, error?: unknown) => {
      lent.delete(connection)
      connection.note = undefined
      connection.onClosed = () => {}
      if (error instanceof DeadlineError) closeSilent(connection.lentAt)
      if (isDatabaseUnavailable(error)) void connection.sql.end({ timeout: 0 })
      else if (connection.isOpen) {
        connection.workedAt = performance.now()
        idle.add(connection)
      }
    },
    /** For how long the connection that was lent first has been lent. */
    longestMs: () => {
      const [first] = lent
      return first ? performance.now() - first.lentAt : 0
    },
    end: async (options: { timeout: number }) => {
      await Promise.all([...idle, ...lent].map(({ sql }) => sql.end(options)))
    },
  }
}

/** The database did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  readonly code = 'DEADLINE_EXCEEDED'
  /**
   * Whether the work got its connection so late that no statement of it could have timed out: then
   * it may be the statement that is slow, and not the database that is silent.
   */
  isCutShort = false
  constructor() {
    super('the database did not answer in time')
  }
}

/**
 * When work must have ended. Most work only asks whether it has: a signal is made when it is first
 * read, since it costs more than many statements.
 */
export type Deadline = {
  throwIfAborted: () => void
  /** Aborts at the deadline. */
  readonly signal: AbortSignal
}

class LazyDeadline implements Deadline {
  /** The failure of the work, once the deadline is over. */
  missed: DeadlineError | undefined
  #abort: AbortController | undefined

  throwIfAborted() {
    if (this.missed) throw this.missed
  }

  get signal() {
    this.#abort ??= new AbortController()
    if (this.missed) this.#abort.abort(this.missed)
    return this.#abort.signal
  }

  miss(error: DeadlineError) {
    this.missed = error
    this.#abort?.abort(error)
  }
}

/** How work ends early: `fail` rejects `failed`. */
type UseEnding = { failed: Promise<never>; fail: (error: Error) => void; deadline: LazyDeadline }

/** Runs `work` with a promise that rejects at the deadline. */
async function withDeadline<T>(until: number, work: (ending: UseEnding) => Promise<T>): Promise<T> {
  const deadline = new LazyDeadline()
  let fail: UseEnding['fail'] = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  const expire = () => {
    const error = new DeadlineError()
    deadline.miss(error)
    fail(error)
  }
  const timer = setTimeout(expire, until - performance.now())
  try {
    return await work({ failed, fail, deadline })
  } finally {
    clearTimeout(timer)
  }
}
