import { limits } from '@parley/contract'
import { type Change, change, type Forgetting } from './context.ts'
import type { Db } from './db/client.ts'
import { finishForgetting, forgetInChannel, selectPlaces } from './features/users/forget.ts'

const INTERVAL_MS = 30_000
const RETRY_MS = 1_000
const THINNING_MS = 3_600_000
const CLEANUP_LOCK = 7_305_218
const BATCH = 1_000

/**
 * Takes away what deleted users and channels have left, and what has expired, in short statements and transactions:
 * it may be interrupted anywhere and run anywhere, twice too. As a rule one node does it at a time.
 */
export function createCleanup({ db, onError }: { db: Db; onError: (error: unknown) => void }): Cleanup {
  const ending = new AbortController()
  const { signal } = ending
  let isWanted = false
  let thinned = 0
  let running: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  const wake = () => {
    isWanted = true
    running ??= work().finally(() => {
      running = undefined
    })
  }
  const work = async () => {
    while (isWanted && !signal.aborted) {
      isWanted = false
      await underLock(db, pass).catch((error: unknown) => signal.aborted || onError(error))
    }
  }
  const pass = async (isOurs: boolean) => {
    if (!isOurs) {
      retry ??= setTimeout(() => ((retry = undefined), wake()), RETRY_MS).unref()
      return
    }
    for (const task of [forgetUsers, purgeChannels, expireEvents, expireInvites]) await task({ db, signal })
    if (Date.now() - thinned < THINNING_MS) return
    await thinReadMarks({ db, signal })
    thinned = Date.now()
  }

  const start = () => {
    const timer = setInterval(wake, INTERVAL_MS)
    wake()
    return async () => {
      clearInterval(timer)
      await stop()
    }
  }
  const stop = async () => {
    ending.abort()
    clearTimeout(retry)
    await running
  }
  const run = async () => {
    wake()
    await running
  }
  return { wake, forget: (appId, userIds) => forgetThese({ db, signal }, { appId, userIds }), start, stop, run }
}

export type Cleanup = Forgetting & {
  /** Runs it now and every half minute; returns what ends that. */
  start: () => () => Promise<void>
  stop: () => Promise<void>
  /** Runs it now; resolves when all that was to be done is done, or another node turned out to be at it. */
  run: () => Promise<void>
}

/** Tells `work` whether this node is the one to do it. */
async function underLock(db: Db, work: (isOurs: boolean) => Promise<void>) {
  const connection = await db.reserve()
  try {
    const [row] = await connection<{ isOurs: boolean }[]>`select pg_try_advisory_lock(${CLEANUP_LOCK}) as is_ours`
    await work(row?.isOurs ?? false)
    if (row?.isOurs) await connection`select pg_advisory_unlock(${CLEANUP_LOCK})`
  } finally {
    connection.release()
  }
}

/** Every loop ends between two steps when the service stops. */
type Job = { db: Db; signal: AbortSignal }

async function forgetUsers({ db, signal }: Job) {
  const waiting = await db<{ appId: string; userIds: string[] }[]>`
    select app_id, array_agg(id) as user_ids
    from (select app_id, id from users where deleted_at is not null and forgotten_at is null order by deleted_at limit ${BATCH}) u group by app_id`
  for (const { appId, userIds } of waiting) await forgetThese({ db, signal }, { appId, userIds })
}

/** Ends when nothing of these users is left, except where somebody else is at it. */
async function forgetThese({ db, signal }: Job, { appId, userIds }: { appId: string; userIds: string[] }) {
  const inApp = <T>(work: (change: Change) => Promise<T>) => change(db, { appId, signal }, work)
  const next = () => selectPlaces(db, { appId, userIds, limit: BATCH })
  for (let places = await next(); places.length > 0; places = await next()) {
    for (const place of places) await inApp((change) => forgetInChannel(change, place))
  }
  await inApp((change) => finishForgetting(change, appId, userIds))
}

async function purgeChannels({ db, signal }: Job) {
  const deleted = await db<{ id: string }[]>`select id from channels where deleted_at is not null order by deleted_at limit ${BATCH}`
  for (const { id } of deleted) {
    await untilNone(signal, () => db`delete from messages where id in (select id from messages where channel_id = ${id} limit ${BATCH} for update skip locked)`)
    await untilNone(signal, () => db`
      delete from members where channel_id = ${id} and user_id in (select user_id from members where channel_id = ${id} limit ${BATCH} for update skip locked)`)
    await db`delete from channels where id = ${id} and deleted_at is not null`
  }
}

const expireEvents = ({ db, signal }: Job) =>
  untilNone(signal, () => db`
    delete from events where (topic, "offset") in (
      select topic, "offset" from events where created_at < now() - ${limits.eventsKeptHours} * interval '1 hour' limit ${BATCH}
    )`)

const expireInvites = ({ db }: Job) => db`delete from workspace_invites where expires_at < now()`

/** Leaves each member's last mark of a day: every message read that day still has one at or after it. The window covers a week of standstill. */
const thinReadMarks = ({ db, signal }: Job) =>
  untilNone(signal, () => db`
    delete from read_marks where (channel_id, user_id, seq) in (
      select channel_id, user_id, seq from read_marks a
      where a.read_at < now() - ${limits.readMarksKeptDays} * interval '1 day' and a.read_at > now() - ${limits.readMarksKeptDays + 7} * interval '1 day'
        and exists (
          select from read_marks later
          where later.channel_id = a.channel_id and later.user_id = a.user_id and later.seq > a.seq
            and date_trunc('day', later.read_at, 'UTC') = date_trunc('day', a.read_at, 'UTC')
        )
      limit ${BATCH}
    )`)

async function untilNone(signal: AbortSignal, remove: () => PromiseLike<{ count: number }>) {
  while ((await remove()).count > 0) signal.throwIfAborted()
}
