import { limits } from '@parley/contract'
import { type Erasure, runInTransaction, type Transaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import { type Db, type DbConnection, DeadlineError } from '../db/client.ts'
import { locks } from '../db/locks.ts'
import { eraseInChannel, finishErasure, selectErasureTargets } from '../features/users/erase.ts'

const INTERVAL_MS = 60_000
const RETRY_MS = 1_000
const PASS_MS = 60_000
const THINNING_MS = 3_600_000
const BATCH = 1_000

export type Cleanup = Erasure & {
  /** Runs it now and every minute, where no crontab does; returns what ends that. */
  start: () => () => Promise<void>
  /** Runs it now. Resolves when all that was to be done is done, or another node turned out to be at it. */
  run: () => Promise<void>
  /** Ends it between two steps, for good. */
  stop: () => Promise<void>
}

/**
 * Takes away what deleted users and channels have left, and what has expired, in short statements and transactions: it
 * may be interrupted anywhere and run anywhere, twice too. As a rule one node does it at a time.
 */
export function createCleanup({
  db,
  publisher,
  onError,
}: {
  db: Db
  publisher: EventPublisher
  onError: (error: unknown) => void
}): Cleanup {
  const ending = new AbortController()
  let isWanted = false
  let thinnedAt = 0
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const wake = () => {
    isWanted = true
    running ??= work().finally(() => (running = undefined))
  }
  const work = async () => {
    while (isWanted && !ending.signal.aborted) {
      isWanted = false
      await db.use(asTheOnlyOne(pass, later), Date.now() + PASS_MS).catch((error: unknown) => {
        if (error instanceof DeadlineError) isWanted = true
        else if (!ending.signal.aborted) onError(error)
      })
    }
  }
  const later = () => {
    clearTimeout(retry)
    retry = setTimeout(wake, RETRY_MS).unref()
  }
  const pass = async (connection: DbConnection, late: AbortSignal) => {
    const signal = AbortSignal.any([ending.signal, late])
    // One connection does for the whole pass: requests need the others.
    const job: Job = { db: { use: (work) => work(connection, signal) }, publisher, signal }
    for (const task of [forgetUsers, purgeChannels, expireEvents, expireInvites, expirePreviews])
      await task(job)
    if (Date.now() - thinnedAt < THINNING_MS) return
    await thinReadMarks(job)
    thinnedAt = Date.now()
  }

  const stop = async () => {
    ending.abort()
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
    erase: (users, until) => forget({ db, publisher, signal: ending.signal }, users, until),
  }
}

/** Carries out `work` while no other node does; if one does, `otherwise`. */
const asTheOnlyOne =
  (work: (connection: DbConnection, late: AbortSignal) => Promise<void>, otherwise: () => void) =>
  async (connection: DbConnection, late: AbortSignal) => {
    const [row] = await connection<
      { isOurs: boolean }[]
    >`select pg_try_advisory_lock(${locks.cleanup}) as is_ours`
    if (!row?.isOurs) return otherwise()
    try {
      await work(connection, late)
    } finally {
      await connection`select pg_advisory_unlock(${locks.cleanup})`
    }
  }

/** `signal` ends every loop between two steps. */
type Job = { db: Pick<Db, 'use'>; publisher: EventPublisher; signal: AbortSignal }

async function forgetUsers(job: Job) {
  const waiting = await job.db.use(
    (db) => db<{ appId: string; userIds: string[] }[]>`
    select app_id, array_agg(id) as user_ids
    from (select app_id, id from users where deleted_at is not null and forgotten_at is null order by deleted_at limit ${BATCH}) u group by app_id`,
  )
  for (const users of waiting) await forget(job, users)
}

/** Ends when nothing of these deleted users is left. Who waits for it waits `until` then, and what is done is done. */
async function forget(
  { db, publisher, signal }: Job,
  { appId, userIds }: { appId: string; userIds: string[] },
  until = Number.POSITIVE_INFINITY,
) {
  const step = <T>(work: (change: Transaction) => Promise<T>) => {
    signal.throwIfAborted()
    if (Date.now() > until) throw new DeadlineError()
    return db.use((connection, signal) =>
      runInTransaction(connection, { appId, signal, publisher }, work),
    )
  }
  const next = () =>
    step((change) => selectErasureTargets(change.db, { appId, userIds, limit: BATCH }))
  for (let places = await next(); places.length > 0; places = await next()) {
    for (const place of places) await step((change) => eraseInChannel(change, place))
  }
  await step((change) => finishErasure(change, appId, userIds))
}

async function purgeChannels(job: Job) {
  const deleted = await job.db.use(
    (db) =>
      db<
        { id: string }[]
      >`select id from channels where deleted_at is not null order by deleted_at limit ${BATCH}`,
  )
  for (const { id } of deleted) {
    await untilNone(
      job,
      (db) =>
        db`delete from messages where id in (select id from messages where channel_id = ${id} limit ${BATCH} for update skip locked)`,
    )
    await untilNone(
      job,
      (db) => db`
      delete from members where channel_id = ${id} and user_id in (select user_id from members where channel_id = ${id} limit ${BATCH} for update skip locked)`,
    )
    await job.db.use((db) => db`delete from channels where id = ${id} and deleted_at is not null`)
  }
}

const expireEvents = (job: Job) =>
  untilNone(
    job,
    (db) => db`
    delete from events where (topic, "offset") in (
      select topic, "offset" from events where created_at < now() - ${limits.eventsKeptHours} * interval '1 hour' limit ${BATCH}
    )`,
  )

const expireInvites = (job: Job) =>
  untilNone(
    job,
    (db) =>
      db`delete from workspace_invites where id in (select id from workspace_invites where expires_at < now() limit ${BATCH})`,
  )

const expirePreviews = (job: Job) =>
  untilNone(
    job,
    (db) => db`
    delete from link_previews where (app_id, url_hash) in (select app_id, url_hash from link_previews where expires_at < now() limit ${BATCH} for update skip locked)`,
  )

/** Leaves each member's last mark of a day: every message read that day still has one at or after it. The window covers a week of standstill. */
const thinReadMarks = (job: Job) =>
  untilNone(
    job,
    (db) => db`
    delete from read_marks where (channel_id, user_id, seq) in (
      select channel_id, user_id, seq from read_marks a
      where a.read_at < now() - ${limits.readMarksKeptDays} * interval '1 day' and a.read_at > now() - ${limits.readMarksKeptDays + 7} * interval '1 day'
        and exists (
          select from read_marks later
          where later.channel_id = a.channel_id and later.user_id = a.user_id and later.seq > a.seq
            and date_trunc('day', later.read_at, 'UTC') = date_trunc('day', a.read_at, 'UTC')
        )
      limit ${BATCH}
    )`,
  )

async function untilNone(
  { db, signal }: Job,
  remove: (db: DbConnection) => PromiseLike<{ count: number }>,
) {
  const step = () => db.use(async (connection) => (await remove(connection)).count)
  while ((await step()) > 0) signal.throwIfAborted()
}
