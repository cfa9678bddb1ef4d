import type { Auth } from '@parley/contract'
import type { Connection, PendingWrite, Tx } from './db/client.ts'
import type { ChannelRow } from './db/rows.ts'
import { News } from './news.ts'
import type { Outbox } from './outbox.ts'
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
export type Services = { tokens: Tokens; outbox: Outbox; wsUrl: string; version: string }

/** What a reading operation may touch: single statements, no transaction. */
export type ReadCtx<A extends Auth = Auth> = { db: Tx; caller: Caller<A>; services: Services }

/** What a writing operation may touch. Its writes and its news commit together or not at all. */
export type Ctx<A extends Auth = Auth> = ReadCtx<A> & {
  emit: News['emit']
  emitTo: News['emitTo']
  nextSeq: News['nextSeq']
  /** Promises work for after the commit, if this server is set up to do it. */
  enqueue: News['enqueue']
  /** A write whose answer nobody waits for: it is sent together with the news, before the commit. */
  write(query: PendingWrite): void
}

/** Runs `work` in one transaction. The news goes last, in one flight with the writes nobody waited for. */
export async function transact<A extends Auth, T>(
  db: Connection,
  { caller, services, signal }: { caller: Caller<A>; services: Services; signal: AbortSignal },
  work: (ctx: Ctx<A>) => Promise<T>,
): Promise<T> {
  const news = new News('appId' in caller ? caller.appId : '', services.outbox)
  const result = await db.begin(async (tx) => {
    const writes: PendingWrite[] = []
    const result = await work({
      db: tx,
      caller,
      services,
      emit: news.emit.bind(news),
      emitTo: news.emitTo.bind(news),
      nextSeq: news.nextSeq.bind(news),
      enqueue: news.enqueue.bind(news),
      write: (query) => void writes.push(query),
    })
    await Promise.all([...writes, ...news.write(tx)])
    signal.throwIfAborted()
    return result
  })
  news.wakeOutbox()
  return result as T // Postgres.js unwraps arrays of promises in its type; ours is none
}
