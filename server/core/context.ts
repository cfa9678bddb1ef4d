import {
  type Auth,
  type Envelope,
  type EphemeralChannelEvent,
  type EphemeralChannelEventType,
  type EphemeralUserEvent,
  type EphemeralUserEventType,
  topics,
} from '@parley/contract'
import type { DbConnection, PendingWrite, Tx } from '../db/client.ts'
import { EventBuffer, type StoredEvent } from './event-buffer.ts'
import type { EventPublisher } from './event-bus.ts'
import type { JobStaging } from './jobs.ts'
import type { LastActive } from './last-active.ts'
import type { Revocations } from './revocations.ts'
import type { Tokens } from './tokens.ts'

/** Who calls, as the credentials say. `userOrKey`: a null `userId` is the app's backend. */
export type Caller<A extends Auth = Auth> = {
  none: object
  admin: object
  key: { appId: string }
  user: UserCaller
  userOrKey: UserCaller | { appId: string; userId: null }
}[A]
export type UserCaller = { appId: string; userId: string; admin: boolean }

/** What operations need besides the database. */
export type Services = {
  tokens: Tokens
  wsUrl: string
  inviteUrl: (token: string) => string
  version: string
  userAdminAccess: UserAdminAccess
  revocations: Revocations
  lastActive: LastActive
  erasure: Erasure
  publisher: EventPublisher
  staging: JobStaging
  /** A user's preferences as the push provider keeps them; empty without one, or when it does not answer soon. */
  providerPreferences: (userId: string) => Promise<ProviderPreferences>
}
export type ProviderPreferences = { channels: unknown[]; workflows: unknown[] }
/** Who administers users with a bearer token: everybody, or only holders of an admin token (DESIGN §6). */
export type UserAdminAccess = 'bearer' | 'server'
/** What operations ask of the clean-up: to run soon, or to be done with these deleted users now. */
export type Erasure = {
  wake: () => void
  erase: (users: { appId: string; userIds: string[] }, until: number) => Promise<void>
}

/** What a reading operation may touch: single statements, no transaction. */
export type Context<A extends Auth = Auth> = { db: Tx; caller: Caller<A>; services: Services }

/** What an operation may touch that holds no connection: `read` lends one. */
export type ConnectionlessContext<A extends Auth = Auth> = Omit<Context<A>, 'db'> & {
  read: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
}

/** What a transaction offers. Its writes and its news commit together or not at all. */
export type Transaction = {
  db: Tx
  emit: EventBuffer['emit']
  emitToUser: EventBuffer['emitToUser']
  nextSeq: EventBuffer['nextSeq']
  /** Promises work for after the commit, if this server is set up to do it. */
  enqueue: EventBuffer['enqueue']
  /** A write whose answer nobody waits for: it is sent together with the news, before the commit. */
  write(query: PendingWrite): void
  /** What is to happen outside the database once, and only if, this has committed. */
  afterCommit(effect: () => void): void
}

/** What a writing operation may touch. */
export type WriteContext<A extends Auth = Auth> = Context<A> & Transaction

/** Runs an operation in one transaction. */
export const runOperation = <A extends Auth, T>(
  db: DbConnection,
  { caller, services, signal }: { caller: Caller<A>; services: Services; signal: AbortSignal },
  work: (ctx: WriteContext<A>) => Promise<T>,
): Promise<T> =>
  runInTransaction(
    db,
    {
      appId: 'appId' in caller ? caller.appId : '',
      signal,
      publisher: services.publisher,
      staging: services.staging,
    },
    (change) => work({ ...change, caller, services }),
  )

type TransactionOptions = {
  appId: string
  signal?: AbortSignal
  publisher: EventPublisher
  staging?: JobStaging
}

/** Runs `work` in one transaction. The news goes last, in one flight with the writes nobody waited for; once committed it is handed on. */
export async function runInTransaction<T>(
  db: DbConnection,
  { appId, signal, publisher, staging }: TransactionOptions,
  work: (change: Transaction) => Promise<T>,
): Promise<T> {
  const news = new EventBuffer(appId, staging)
  const effects: (() => void)[] = []
  const { result, events } = (await db.begin(async (tx) => {
    const writes: PendingWrite[] = []
    const result = await work({
      db: tx,
      emit: news.emit.bind(news),
      emitToUser: news.emitToUser.bind(news),
      nextSeq: news.nextSeq.bind(news),
      enqueue: news.enqueue.bind(news),
      write: (query) => void writes.push(query),
      afterCommit: (effect) => void effects.push(effect),
    })
    const [, events] = await Promise.all([Promise.all(writes), news.write(tx)])
    signal?.throwIfAborted()
    return { result, events }
  })) as { result: T; events: StoredEvent[] } // Postgres.js unwraps arrays of promises in its type; here is none
  if (events.length > 0) publisher.publish(events)
  news.wakeJobs()
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

/** Sends an ephemeral event to a user's topic, likewise. */
export const broadcastToUser = <T extends EphemeralUserEventType>(
  { caller, services }: BroadcastContext,
  userId: string,
  { type, payload }: { type: T; payload: EphemeralUserEvent<T> },
) => {
  const topic = topics.user(caller.appId, userId)
  const event = { type, payload } as Envelope // the payload of that type
  services.publisher.broadcast({ kind: 'event', topic, ...event })
}
