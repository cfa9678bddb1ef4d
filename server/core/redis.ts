import type { Cluster, Redis, RedisOptions } from 'ioredis'
import type { RedisTarget } from './redis-url.ts'

/** A connection that connects again by itself. Commands fail at once while it is lost. */
export type RedisConnection = {
  client: Redis | Cluster
  isCluster: boolean
  isReady: () => boolean
  /** The last failure. */
  problem: () => string
  close: () => void
}

export type ConnectRedis = (options: {
  name: string
  /** How long a command may take. */
  commandMs: number
}) => RedisConnection

const CONNECT_MS = 2_000
const SLOTS_MS = 2_000
/** A connection that leaves a command unanswered for this long is silently lost. */
const SILENT_MS = 2_000
const LONGEST_PAUSE_MS = 2_000

/** Grows with each attempt, with jitter: not all processes connect at once. */
export const pauseMs = (attempts: number) =>
  Math.min(50 * 2 ** attempts, LONGEST_PAUSE_MS) * (0.75 + Math.random() / 2)

/**
 * A TLS handshake that is given up and fails has two errors: its own and the server's alert. The
 * client listens for one, and the other would end the process.
 */
const expectErrors = (client: Redis) =>
  client.on('connecting', () => setImmediate(() => client.stream?.on('error', () => {})))

/** Loads the client of Redis, which servers without one need not load. */
export async function loadRedis(target: RedisTarget): Promise<ConnectRedis> {
  const { Cluster, Redis } = await import('ioredis')
  const { kind, hosts, isTls, username, password, database, masterName } = target
  const tls = isTls ? {} : undefined
  return ({ name, commandMs }) => {
    const options: RedisOptions = {
      connectionName: name,
      connectTimeout: CONNECT_MS,
      commandTimeout: commandMs,
      socketTimeout: Math.max(commandMs, SILENT_MS),
      // Commands fail at once, and none is kept for a server that is gone.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      // Subscribers must know when they are complete again, so they subscribe themselves.
      autoResubscribe: false,
      retryStrategy: pauseMs,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(tls && { tls }),
    }
    const create = () => {
      if (kind === 'sentinel')
        return new Redis({
          ...options,
          db: database,
          sentinels: hosts,
          name: masterName,
          sentinelRetryStrategy: pauseMs,
          failoverDetector: true,
          ...(tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
        })
      if (kind === 'cluster')
        return new Cluster(hosts, {
          redisOptions: options,
          enableOfflineQueue: false,
          shardedSubscribers: true,
          slotsRefreshTimeout: SLOTS_MS,
          clusterRetryStrategy: pauseMs,
        })
      const [first] = hosts
      return new Redis({ ...options, ...first, db: database })
    }
    const client = create()
    if (client instanceof Redis) expectErrors(client)
    else client.on('+node', expectErrors)
    let problem = 'not connected yet'
    let isClosed = false
    let ends = 0
    let retry: NodeJS.Timeout | undefined
    client.on('error', (error: Error) => {
      problem = error.message
    })
    client.on('ready', () => {
      ends = 0
      // One that is closed without an error says so, and not what went wrong before.
      problem = 'the connection was lost'
    })
    // A client of Sentinels that learns of a fail-over while it connects ends for good.
    client.on('end', () => {
      if (isClosed) return
      retry = setTimeout(() => client.connect().catch(() => {}), pauseMs(++ends))
    })
    return {
      client,
      isCluster: kind === 'cluster',
      isReady: () => client.status === 'ready',
      problem: () => problem,
      close: () => {
        isClosed = true
        clearTimeout(retry)
        client.disconnect()
      },
    }
  }
}
