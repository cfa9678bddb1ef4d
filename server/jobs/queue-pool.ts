import type { Socket } from 'node:net'
import pg from 'pg'
import { queueSchemaOf } from '../db/own-schema.ts'
import { readTls } from '../db/tls.ts'

const MAX_CONNECTIONS = 12
/** No wait for the database is endless: not for a connection, an answer, or a silent line. */
const WAITS = {
  connectionTimeoutMillis: 5_000,
  query_timeout: 10_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
}

/** The job queue's connections, which find its functions by their search path. */
export function createQueuePool(
  databaseUrl: string,
  { onConnectionLost }: { onConnectionLost: (error: Error) => void },
) {
  const { url, ssl } = readTls(databaseUrl)
  const pgPool = new QueuePool({
    ...WAITS,
    connectionString: url,
    ssl,
    max: MAX_CONNECTIONS,
    application_name: 'parley-jobs',
    options: `-c search_path=${queueSchemaOf(databaseUrl)}`,
  })
  const clients = new Set<pg.PoolClient>()
  pgPool.on('error', onConnectionLost)
  pgPool.on('connect', (client) => {
    clients.add(client)
    client.on('error', onConnectionLost)
  })
  pgPool.on('remove', (client) => clients.delete(client))
  const cut = () => {
    for (const client of clients) streamOf(client).destroy()
  }
  return { pgPool, cut }
}

type Callback = Parameters<pg.Pool['connect']>[0]

/**
 * A pool whose clients may be released twice. graphile-worker does so when it is stopped while it
 * begins to listen, and the database is lost at that moment: nothing handles the error of the pool,
 * which would end the process.
 */
class QueuePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback) {
    if (!callback) return super.connect()
    super.connect((error, client, release) =>
      // Without a client there is nothing to release, whatever the types say.
      callback(error, client, client ? once(release) : release),
    )
  }
}

type Release = Parameters<Callback>[2]

function once(release: Release): Release {
  let isReleased = false
  return (reason) => {
    if (!isReleased) release(reason)
    isReleased = true
  }
}

/** The socket of a client, which pg declares without its `connection`. */
const streamOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream
