import { type Erasure, runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import { type Db, type DbConnection, DeadlineError } from '../db/client.ts'
import { locks } from '../db/locks.ts'
import { eraseInChannel, finishErasure, selectErasureTargets } from '../features/users/erase.ts'
import {
  BATCH,
  expireEvents,
  expireInvites,
  expirePreviews,
  purgeChannels,
  thinReadMarks,
} from './retention.ts'

const INTERVAL_MS = 60_000
const RETRY_MS = 1_000
const PASS_TIMEOUT_MS = 60_000
const THINNING_INTERVAL_MS = 3_600_000

export type Cleanup = Erasure & {
  /** Runs a pass now and every minute, where no crontab does. Returns a function that ends this. */
  start: () => () => Promise<void>
  /** Runs a pass now. Resolves when everything is done, or when another node is running a pass. */
  run: () => Promise<void>
  /** Ends the current pass after its current step, for good. */
  stop: () => Promise<void>
}

type CleanupOptions = {
  db: Db
  publisher: EventPublisher
  onError: (error: unknown) => void
  /** After this long a pass is ended, and the next one continues it. */
  passMs?: number
}

/**
 * Deletes what deleted users and channels left behind, and what has expired, in short statements
 * and transactions. It may be interrupted at any point, and run on several nodes at once; an
 * advisory lock normally leaves it to one node at a time.
 */
export function createCleanup({
  db,
  publisher,
  onError,
  passMs = PASS_TIMEOUT_MS,
}: CleanupOptions): Cleanup {
  const stopping = new AbortController()
  let isWanted = false
  let thinnedAt = 0
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const wake = () => {
    isWanted = true
    running ??= runPasses().finally(() => (running = undefined))
  }
  const runPasses = async () => {
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false
      await db.use(exclusively(pass, retryLater), Date.now() + passMs).catch(onPassFailed)
    }
  }
  const onPassFailed = (error: unknown) => {
    if (error instanceof DeadlineError) isWanted = true
    else if (!stopping.signal.aborted) onError(error)
  }
  const retryLater = () => {
    clearTimeout(retry)
    retry = setTimeout(wake, RETRY_MS).unref()
  }
  const pass = async (connection: DbConnection, deadline: AbortSignal) => {
    const signal = AbortSignal.any([stopping.signal, deadline])
    // The whole pass uses one connection, to leave the others to requests.
    const onOneConnection: Pick<Db, 'use'> = { use: (work) => work(connection, signal) }
    await eraseDeletedUsers({ db: onOneConnection, publisher, signal })
    const context = { db: onOneConnection, signal }
    await purgeChannels(context)
    await expireEvents(context)
    await expireInvites(context)
    await expirePreviews(context)
    if (Date.now() - thinnedAt < THINNING_INTERVAL_MS) return
    await thinReadMarks(context)
    thinnedAt = Date.now()
  }

  const stop = async () => {
    stopping.abort()
    clearTimeout(retry)
    await running
  }
  const start = () => {
    const timer = setInterval(wake, INTERVAL_MS)
    wake()
    return () => {
      clearInterval(timer)
      return stop()
    }
  }
  const run = async () => {
    wake()
    await running
  }
  return {
    wake,
    run,
    start,
    stop,
    erase: (users, until) => eraseUsers({ db, publisher, signal: stopping.signal }, users, until),
  }
}

/** Runs `work` unless another node holds the clean-up lock; in that case runs `onTaken`. */
const exclusively =
  (work: (connection: DbConnection, deadline: AbortSignal) => Promise<void>, onTaken: () => void) =>
  async (connection: DbConnection, deadline: AbortSignal) => {
    const [lock] = await connection<{ isOurs: boolean }[]>`
      select pg_try_advisory_lock(${locks.cleanup}) as is_ours`
    if (!lock?.isOurs) return onTaken()
    try {
      await work(connection, deadline)
    } finally {
      await connection`select pg_advisory_unlock(${locks.cleanup})`
    }
  }

/** `signal` ends every loop between two steps. */
type ErasureContext = { db: Pick<Db, 'use'>; publisher: EventPublisher; signal: AbortSignal }
type DeletedUsers = { appId: string; userIds: string[] }

async function eraseDeletedUsers(context: ErasureContext) {
  const deleted = await context.db.use(
    (db) => db<DeletedUsers[]>`
      select app_id, array_agg(id) as user_ids
      from (
        select u.app_id, u.id
        from users u
        where u.deleted_at is not null
          and u.forgotten_at is null
        order by u.deleted_at
        limit ${BATCH}
      ) deleted
      group by app_id`,
  )
  for (const users of deleted) await eraseUsers(context, users)
}

/**
 * Ends when these users are erased, or throws DeadlineError at `until`: completed steps stay done.
 */
async function eraseUsers(
  { db, publisher, signal }: ErasureContext,
  { appId, userIds }: DeletedUsers,
  until = Number.POSITIVE_INFINITY,
) {
  const step = <T>(work: (ctx: Transaction) => Promise<T>) => {
    signal.throwIfAborted()
    if (Date.now() > until) throw new DeadlineError()
    return db.use((connection, signal) =>
      runInTransaction(connection, { appId, signal, publisher }, work),
    )
  }
  const nextTargets = () =>
    step((ctx) => selectErasureTargets(ctx.db, { appId, userIds, limit: BATCH }))
  for (let targets = await nextTargets(); targets.length > 0; targets = await nextTargets()) {
    for (const target of targets) await step((ctx) => eraseInChannel(ctx, target))
  }
  await step((ctx) => finishErasure(ctx, appId, userIds))
}
