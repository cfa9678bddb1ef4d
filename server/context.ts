import { type Auth, type ChannelSignal, type ChannelSignalType, topics, type UserSignal, type UserSignalType, type UserSummary } from '@parley/contract'
import type { Db, PendingWrite, Tx } from './db/client.ts'
import type { ChannelRow } from './db/rows.ts'
import { News, type StoredEvent } from './news.ts'
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

/** A channel whose row this transaction has locked. Only such a channel can change and have news. */
export type LockedChannel = ChannelRow & LockedCounters
export type LockedCounters = Pick<ChannelRow, 'id' | 'rev' | 'lastSeq'> & { readonly isLocked: true }

/** What operations need besides the database. */
export type Services = { tokens: Tokens; wsUrl: string; version: string; outlet: Outlet }

/** Where news goes once it is committed. Nothing here is waited for, and nothing here can fail an operation. */
export type Outlet = { publish(events: StoredEvent[]): void; signal(signal: Signal): void }

/** What all nodes are told and nobody stores. */
export type Signal =
  /** An ephemeral event of a topic; for the subscriptions of one user only, if that is said. */
  | { kind: 'event'; topic: string; envelope: string; onlyFor?: string | undefined }
  /** A user has a new name or image: those who share a channel with him hear of it. */
  | { kind: 'profile'; appId: string; user: UserSummary }
  /** A user's tokens are revoked: his sockets are closed. */
  | { kind: 'revoked'; appId: string; userId: string }
  /** What a user may read has changed other than by membership: his subscriptions are judged anew. */
  | { kind: 'rights'; appId: string; userId: string }
  /** A user did something; noted at most once a minute, by this node alone. */
  | { kind: 'active'; appId: string; userId: string }

/** What a reading operation may touch: single statements, no transaction. Its signals go out at once. */
export type ReadCtx<A extends Auth = Auth> = { db: Tx; caller: Caller<A>; services: Services } & Signals

/** What a writing operation may touch. Its writes and its news commit together or not at all; its signals follow the commit. */
export type Ctx<A extends Auth = Auth> = ReadCtx<A> & {
  emit: News['emit']
  emitTo: News['emitTo']
  nextSeq: News['nextSeq']
  /** A write whose answer nobody waits for: it is sent together with the news, before the commit. */
  write(query: PendingWrite): void
}

type Signals = ReturnType<typeof createSignals>

const createSignals = (caller: Caller, send: (signal: Signal) => void) => {
  const appId = 'appId' in caller ? caller.appId : ''
  return {
    signal: send,
    /** Sends an ephemeral event to who is subscribed to a channel. */
    broadcast: <T extends ChannelSignalType>(type: T, payload: ChannelSignal<T> & { channelId: string }, { onlyFor }: { onlyFor?: string | undefined } = {}) =>
      send({ kind: 'event', topic: topics.channel(appId, payload.channelId), envelope: JSON.stringify({ type, payload }), onlyFor }),
    /** Sends an ephemeral event to a user's own topic. */
    broadcastTo: <T extends UserSignalType>(userId: string, type: T, payload: UserSignal<T>) =>
      send({ kind: 'event', topic: topics.user(appId, userId), envelope: JSON.stringify({ type, payload }) }),
  }
}

type Given<A extends Auth> = { caller: Caller<A>; services: Services }

export const readCtx = <A extends Auth>(db: Tx, { caller, services }: Given<A>): ReadCtx<A> => ({ db, caller, services, ...createSignals(caller, services.outlet.signal) })

/**
 * Runs `work` in one transaction. The news goes last, in one flight with the writes nobody waited for; once it is
 * committed it is handed on.
 */
export async function transact<A extends Auth, T>(db: Db, { caller, services, signal }: Given<A> & { signal: AbortSignal }, work: (ctx: Ctx<A>) => Promise<T>): Promise<T> {
  const signals: Signal[] = []
  const committed = (await db.begin(async (tx) => {
    const news = new News('appId' in caller ? caller.appId : '')
    const writes: PendingWrite[] = []
    const result = await work({
      db: tx,
      caller,
      services,
      ...createSignals(caller, (signal) => void signals.push(signal)),
      emit: news.emit.bind(news),
      emitTo: news.emitTo.bind(news),
      nextSeq: news.nextSeq.bind(news),
      write: (query) => void writes.push(query),
    })
    const [, events] = await Promise.all([Promise.all(writes), news.write(tx)])
    signal.throwIfAborted()
    return { result, events }
  })) as { result: T; events: StoredEvent[] } // Postgres.js unwraps arrays of promises in its type; here is none
  if (committed.events.length > 0) services.outlet.publish(committed.events)
  for (const sent of signals) services.outlet.signal(sent)
  return committed.result
}
