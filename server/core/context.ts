import {
  type Auth,
  type Envelope,
  type EphemeralChannelEvent,
  type EphemeralChannelEventType,
  type EphemeralUserEvent,
  type EphemeralUserEventType,
  type KeyScope,
  topics,
} from '@parley/contract'
import type { DatabaseState, DbConnection, Deadline, PendingWrite, Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { transactionAtOnce } from '../db/transaction.ts'
import type { AppFacts } from './app-facts.ts'
import type { AskBeforeSend } from './before-send.ts'
import type { Erasure } from './erasure.ts'
import { EventBuffer } from './event-buffer.ts'
import type { EventPublisher } from './event-bus.ts'
import type { JobStaging } from './jobs.ts'
import type { LastActive } from './last-active.ts'
import type { Metrics } from './metrics.ts'
import type { Revocations } from './revocations.ts'
import type { Tokens } from './signed-tokens.ts'
import type { Streams } from './streams.ts'

/** The caller, as authenticated. `userOrKey`: a null `userId` is the app's backend. */
export type Caller<A extends Auth = Auth> = {
  none: Traced
  admin: Traced
  key: KeyCaller
  user: UserCaller
  userOrKey: UserCaller | (KeyCaller & { userId: null })
}[A]
type Traced = {
  /** The id of the trace that the call belongs to. */
  trace?: string
  /** The id of the request, for the audit log. */
  requestId?: string
  /** Called when the audit log gets an entry of the call, with the app that this is about. */
  onNoted?: (appId: string | undefined) => void
}
/** The operator's settings of the caller's app. */
type OfApp = Traced & { settings?: Omit<AppFacts, 'isDisabled'> }
type KeyCaller = OfApp & { appId: string; keyHash: string; keyId?: string; scopes?: KeyScope[] }
/** `keyHash`: the API key with which the app's backend acts as this user. */
export type UserCaller = OfApp & {
  appId: string
  userId: string
  isAdmin: boolean
  keyHash?: string
  keyId?: string
  scopes?: KeyScope[]
  /** Whether the app's hook is asked before a message of theirs is stored: never with a key. */
  isScreened?: boolean
}

/** The cause of durable events, as their payloads name it. */
export type Cause = { via?: 'backend' }
export const causeOf = (caller: object): Cause => (hasKey(caller) ? { via: 'backend' } : {})

/** Whether the app's backend calls, for itself or as a user. */
export const hasKey = <C extends object>(caller: C): caller is C & { keyHash: string } =>
  'keyHash' in caller && caller.keyHash !== undefined

/** Services that operations use besides the database. */
export type Services = {
  tokens: Tokens
  wsUrl: string
  inviteUrl: (token: string) => string
  /** The problem with the URL of a webhook; undefined if it has none. */
  webhookUrlProblem: (url: string) => string | undefined
  askBeforeSend: AskBeforeSend
  version: string
  userAdminAccess: UserAdminAccess
  revocations: Revocations
  lastActive: LastActive
  /** Rejects if the database does not answer, however busy the pool is. */
  pingDatabase: () => Promise<DatabaseState>
  /** Whether sockets are closed and refused because the database was out of reach for too long. */
  isOutage: () => boolean
  /** Whether notes between nodes pass through Redis; only with REDIS_URL. */
  redis?: (() => RedisState) | undefined
  /** Whether the process is about to stop. */
  isStopping: () => boolean
  erasure: Erasure
  publisher: EventPublisher
  staging: JobStaging
  streams: Streams
  importMetrics: ImportMetrics
  /** Whether another process runs the staged jobs; only with JOBS=external. */
  workers?: (() => WorkersState) | undefined
  /** A user's preferences at the push provider; empty without one, or when it responds too late. */
  providerPreferences: (userId: string) => Promise<ProviderPreferences>
}
export type ImportMetrics = Pick<Metrics, 'imports' | 'importsRunning' | 'importedRecords'>
export type WorkersState = 'ok' | 'missing'
export type RedisState = 'ok' | 'unreachable'
export type ProviderPreferences = { channels: unknown[]; workflows: unknown[] }
/** Bearer tokens that may administer users: those of every user, or only admin tokens. */
export type UserAdminAccess = 'bearer' | 'server'

/** The context of an operation that reads: single statements, no transaction. */
export type Context<A extends Auth = Auth> = { db: Tx; caller: Caller<A>; services: Services }

/** The context of an operation that holds no connection: `read` lends one. */
export type ConnectionlessContext<A extends Auth = Auth> = Omit<Context<A>, 'db'> & {
  read: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
}

/**
 * The context of an operation that reads its body while it arrives. Each transaction has a deadline
 * and an admission of its own; none is open while more of the body is awaited.
 */
export type StreamedBodyContext<A extends Auth = Auth> = Omit<Context<A>, 'db'> & {
  body: AsyncIterable<Uint8Array>
  inTransaction: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
}

/** A transaction. Its writes, events and jobs commit together or not at all. */
export type Transaction = {
  db: Tx
  emit: EventBuffer['emit']
  emitToUser: EventBuffer['emitToUser']
  nextSeq: EventBuffer['nextSeq']
  /** Stages a job, which runs only if this transaction commits. */
  enqueue: EventBuffer['enqueue']
  /** Queues a write without a result: it is sent together with the events, before the commit. */
  queueWrite(query: PendingWrite): void
  /** Queues an effect outside the database, to run once the transaction has committed. */
  afterCommit(effect: () => void): void
}

/** The context of an operation that writes. */
export type WriteContext<A extends Auth = Auth> = Context<A> & Transaction

type OperationRun<A extends Auth> = Pick<TransactionOptions, 'writesLast' | 'cause'> & {
  caller: Caller<A>
  services: Services
  signal: Pick<Deadline, 'throwIfAborted'>
}

/** Runs an operation in one transaction. */
export const runOperation = <A extends Auth, T>(
  db: DbConnection,
  { caller, services, ...options }: OperationRun<A>,
  work: (ctx: WriteContext<A>) => Promise<T>,
): Promise<T> =>
  runInTransaction(
    db,
    {
      appId: 'appId' in caller ? caller.appId : '',
      publisher: services.publisher,
      staging: services.staging,
      trace: 'trace' in caller ? caller.trace : undefined,
      ...options,
    },
    (transaction) => work({ ...transaction, caller, services }),
  )

type TransactionOptions = {
  appId: string
  signal?: Pick<Deadline, 'throwIfAborted'>
  publisher: EventPublisher
  staging?: JobStaging
  trace?: string | undefined
  /** The cause of its events, unless they have one of their own. */
  cause?: Cause
  /**
   * `work` writes nothing but by `queueWrite` and events, so that it can start with `begin` at
   * once, and these writes wait for no transaction, so that the commit can travel with them.
   */
  writesLast?: boolean
}

/**
 * Runs `work` in one transaction. Events are written last, pipelined with the queued writes, and
 * published after the commit.
 */
export async function runInTransaction<T>(
  db: DbConnection,
  { appId, signal, publisher, staging, trace, cause = {}, writesLast = false }: TransactionOptions,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const buffer = new EventBuffer({ appId, staging, trace, cause })
  const effects: (() => void)[] = []
  const { result, events } = await transactionAtOnce(db, async (tx, begun, commit) => {
    if (!writesLast) await begun
    const writes: PendingWrite[] = []
    const working = work({
      db: tx,
      emit: buffer.emit.bind(buffer),
      emitToUser: buffer.emitToUser.bind(buffer),
      nextSeq: buffer.nextSeq.bind(buffer),
      enqueue: buffer.enqueue.bind(buffer),
      queueWrite: (query) => void writes.push(query),
      afterCommit: (effect) => void effects.push(effect),
    })
    const [started, worked] = await Promise.allSettled([begun, working])
    if (started.status === 'rejected') throw started.reason
    if (worked.status === 'rejected') throw worked.reason
    // Other writes may wait for locks. Were their commit on its way, it would follow much later,
    // when the deadline is over and the caller has got the answer that nothing happened.
    if (writesLast) signal?.throwIfAborted()
    const [, events] = await pipelined([
      pipelined(writes),
      buffer.write(tx),
      writesLast ? commit() : undefined,
    ])
    // A commit that was answered is published, even if the deadline has passed meanwhile.
    if (!writesLast) signal?.throwIfAborted()
    return { result: worked.value, events }
  })
  if (events.length > 0) publisher.publish(events)
  buffer.wakeJobs()
  for (const effect of effects) effect()
  return result
}

type BroadcastContext = { caller: { appId: string }; services: Pick<Services, 'publisher'> }

/**
 * Sends an ephemeral event to a channel's topic, at once. Inside a transaction call it from
 * `afterCommit`.
 */
export const broadcast = <T extends EphemeralChannelEventType>(
  { caller, services }: BroadcastContext,
  type: T,
  {
    onlyFor,
    ...payload
  }: EphemeralChannelEvent<T> & { channelId: string; onlyFor?: string | undefined },
) => {
  const topic = topics.channel(caller.appId, payload.channelId)
  const event = { type, payload } as unknown as Envelope // the payload of that type, less `onlyFor`
  services.publisher.broadcast({ kind: 'event', topic, ...event, onlyFor })
}

/** Sends an ephemeral event to a user's own topic, at once. See `broadcast`. */
export const broadcastToUser = <T extends EphemeralUserEventType>(
  { caller, services }: BroadcastContext,
  userId: string,
  { type, payload, snapshot }: { type: T; payload: EphemeralUserEvent<T>; snapshot?: number },
) => {
  const topic = topics.user(caller.appId, userId)
  const event = { type, payload } as Envelope // the payload of that type
  services.publisher.broadcast({ kind: 'event', topic, ...event, snapshot })
}
