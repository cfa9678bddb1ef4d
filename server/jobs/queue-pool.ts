import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { isDatabaseUnavailable } from '../db/client.ts'
import { goneClients, IDLE_IN_TRANSACTION_MS } from '../db/connection.ts'
import { queueSchemaOf } from '../db/own-schema.ts'
import { connectionName } from '../db/schema-name.ts'
import { readTls } from '../db/tls.ts'

export const QUEUE_CONNECTIONS = 12
/** How long closing the connections may take. */
const CLOSE_MS = 1_000
/** Ends every wait: for a connection, for an answer, for a silent peer. */
const WAITS = {
  connectionTimeoutMillis: 5_000,
  query_timeout: 10_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
}

/** The messages of pg's errors without a code. */
const LOST = /^(Connection terminated|timeout exceeded when trying to connect|Client has enc)/
const NO_ANSWER = 'Query read timeout'

/** Whether a connection of the queue is gone. */
export const isQueueLost = (error: unknown) => error instanceof Error && LOST.test(error.message)

/** Whether the queue's database was unavailable, rather than the statement wrong. */
export const isQueueUnavailable = (error: unknown) =>
  isDatabaseUnavailable(error) ||
  isQueueLost(error) ||
  (error instanceof Error && error.message === NO_ANSWER)

type QueuePoolOptions = {
  onConnectionLost: (error: Error) => void
  /** The longest pause between two statements of a transaction. */
  idleInTransactionMs?: number
}

/** The job queue's connections, which find its functions by their search path. */
export function createQueuePool(
  databaseUrl: string,
  { onConnectionLost, idleInTransactionMs = IDLE_IN_TRANSACTION_MS }: QueuePoolOptions,
) {
  const { url, ssl } = readTls(databaseUrl)
  const pgPool = new QueuePool({
    ...WAITS,
    connectionString: url,
    ssl,
    max: QUEUE_CONNECTIONS,
    application_name: connectionName('parley-jobs', databaseUrl),
    options: Object.entries({
      search_path: queueSchemaOf(databaseUrl),
      idle_in_transaction_session_timeout: idleInTransactionMs,
      ...goneClients,
    })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
  const clients = new Set<pg.PoolClient>()
  pgPool.on('connect', (client) => {
    clients.add(client)
    client.on('error', onConnectionLost)
  })
  // Reported by the client already. This error holds the whole client, which would fill a page of
  // the log.
  pgPool.on('error', () => {})
  pgPool.on('remove', (client) => clients.delete(client))
  const cut = () => {
    for (const client of clients) socketOf(client).destroy()
  }
  /** Resolves when the connections are closed: the pool's own end only begins to close them. */
  const close = async () => {
    await pgPool.end()
    const closed = async () => {
      while (clients.size > 0) await once(pgPool, 'remove')
    }
    await Promise.race([closed(), setTimeout(CLOSE_MS, undefined, { ref: false })])
    cut()
  }
  return { pgPool, cut, close }
}

type Callback = Parameters<pg.Pool['connect']>[0]

/**
 * A pool whose clients may be released twice. graphile-worker does that when it is stopped as it
 * begins to listen and loses the database at that moment. The pool's error, which nothing handles,
 * would end the process.
 */
class QueuePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback) {
    if (!callback) return super.connect()
    super.connect((error, client, release) =>
      // Without a client there is nothing to release, whatever the types say.
      callback(error, client, client ? releaseOnce(release) : release),
    )
  }
}

type ReleaseClient = Parameters<Callback>[2]

function releaseOnce(release: ReleaseClient): ReleaseClient {
  let isReleased = false
  return (reason) => {
    if (!isReleased) release(reason)
    isReleased = true
  }
}

/** The socket of a client, which pg declares without its `connection`. */
export const socketOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream
