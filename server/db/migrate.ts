import { setTimeout as pause } from 'node:timers/promises'
import type { Tx } from './client.ts'
import { inSchema, locks } from './locks.ts'
import { type Migration, readMigrations } from './migration-files.ts'
import { migrationsSchema } from './own-schema.ts'
import { requireDirectConnection } from './require-direct.ts'
import { requireDatabase, requireMayMigrate, requireSchema } from './requirements.ts'
import { ownSchema } from './schema-name.ts'
import { isQueueBehind, pendingMigrations } from './schema-state.ts'
import { transaction } from './transaction.ts'
import { useOnce } from './use-once.ts'

/** How long a node waits before it asks again whether another one has finished. */
const LOCK_PAUSE_MS = 100
/** After this time the log says that this process waits. */
const LOCK_NOTICE_MS = 5_000
const WAITING = 'another process migrates this database: waiting for it'
const WAITED = 'another process has been migrating this database for an hour, or stands still'
/**
 * The longest that a statement waits for a table. All that comes after it waits as well, also
 * those who would have shared the table with its owner: a backup must not stop the service.
 */
const LOCK_WAIT_MS = 1_000
/** The pauses between two tries, in which others have their turn, and when to give up. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
const GIVE_UP_MS = 3_600_000
/** How long all of it may take: an index of a large table is built for hours. */
const WITHIN_MS = 24 * 3_600_000
/** PostgreSQL's error code if a lock was not available in time. */
const TIMED_OUT = '55P03'
const DEADLOCK = '40P01'

type MigrateOptions = { onNotice?: (line: string) => void }

/**
 * Applies pending migrations, forward only; answers their names. Several nodes may start at once.
 * `onNotice` is called with tables that others keep locked.
 */
export function migrate(url: string, { onNotice = () => {} }: MigrateOptions = {}) {
  const applyPending = async (db: Tx) => {
    await lockMigrations(db, onNotice)
    await liftLimits(db)
    const pending = await pendingMigrations(db)
    await requireRights(db, url, pending)
    if (ownSchema(url) === undefined) await db`create schema if not exists drizzle`
    await db`
      create table if not exists ${migrationsSchema(db)}.__drizzle_migrations (
        id serial primary key,
        hash text not null,
        created_at bigint
      )`
    for (const migration of pending) await apply(db, migration, onNotice)
    return pending.map(({ name }) => name)
  }
  return withConnection(url, applyPending, { withinMs: WITHIN_MS })
}

/** A role or a database may limit its statements, and an index of a large table takes longer. */
const liftLimits = (db: Tx) => db`
  select set_config(name, '0', false)
  from pg_settings
  where name in ('statement_timeout', 'transaction_timeout')`

/**
 * Throws if a schema is not that of this version, or that of the queue unless there are no jobs.
 * The role may be one that owns nothing.
 */
export const requireMigrated = (url: string, { hasJobs = true } = {}) =>
  withConnection(url, (db) => requireNothingPending(db, hasJobs), { mayCreate: false })

async function requireNothingPending(db: Tx, hasJobs: boolean) {
  const { length: missing } = await pendingMigrations(db)
  const isBehind = hasJobs && (await isQueueBehind(db))
  if (missing === 0 && !isBehind) return
  const lack = missing === 1 ? '1 migration' : `${missing} migrations`
  const problem = missing === 0 ? 'its job queue lacks migrations' : `its schema lacks ${lack}`
  throw new Error(`${problem}, and MIGRATE_ON_START=off. Run: parley migrate`)
}

/** The rights to a schema of our own were looked at before. */
async function requireRights(db: Tx, url: string, { length }: Migration[]) {
  if (ownSchema(url) === undefined) await requireMayMigrate(db, { hasPending: length > 0 })
}

/**
 * The pending migrations and the server's version. With `mayMigrate` the role must have rights; the
 * tables of the queue are looked at unless there are no jobs.
 */
export const inspect = (url: string, { mayMigrate = false, hasJobs = true } = {}) =>
  withConnection(
    url,
    async (db) => {
      const pending = await pendingMigrations(db)
      if (mayMigrate) await requireRights(db, url, pending)
      return {
        version: await requireDatabase(db),
        pending: pending.map(({ name }) => name),
        isEmpty: pending.length === readMigrations().length,
        isQueueBehind: hasJobs && (await isQueueBehind(db)),
      }
    },
    { mayCreate: mayMigrate },
  )

/** A connection to a database that we can work with. */
async function withConnection<T>(
  url: string,
  work: (db: Tx) => Promise<T>,
  { mayCreate = true, withinMs }: { mayCreate?: boolean; withinMs?: number },
) {
  await requireDirectConnection(url)
  const prepared = async (db: Tx) => {
    await requireDatabase(db)
    await requireSchema(db, ownSchema(url), mayCreate)
    return work(db)
  }
  return useOnce(url, prepared, {
    applicationName: 'parley-migrations',
    ...(withinMs !== undefined && { withinMs }),
  })
}

/**
 * Polls for the lock instead of waiting in the database: an index that is built concurrently waits
 * for all statements that began before it, so the builder and the waiting statement would wait for
 * each other.
 */
async function lockMigrations(db: Tx, onNotice: (line: string) => void) {
  const startedAt = performance.now()
  for (let isNoticed = false; ; ) {
    const [lock] = await db`
      select
      from pg_try_advisory_lock(${locks.migration}, ${inSchema(db)}) as is_locked
      where is_locked`
    if (lock) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs >= GIVE_UP_MS) throw new Error(WAITED)
    if (waitedMs >= LOCK_NOTICE_MS && !isNoticed) onNotice(WAITING)
    isNoticed ||= waitedMs >= LOCK_NOTICE_MS
    await pause(LOCK_PAUSE_MS)
  }
}

/**
 * Applies a migration in a transaction of its own. One that builds an index concurrently, which no
 * transaction can, is run statement by statement; each of them can be repeated, since an
 * interrupted migration begins again. So does one that ends in a deadlock: an index that was being
 * built stays behind as invalid, and an earlier statement drops it.
 */
async function apply(db: Tx, migration: Migration, onNotice: (line: string) => void) {
  const { name, statements, hash, writtenAt } = migration
  const attempt = (work: () => Promise<unknown>, codes = [TIMED_OUT, DEADLOCK]) =>
    untilUnlocked(work, { name, onNotice, codes })
  const record = (tx: Tx) => tx`
    insert into ${migrationsSchema(db)}.__drizzle_migrations (hash, created_at)
    values (${hash}, ${writtenAt})`
  if (statements.some(isConcurrent)) {
    await attempt(async () => {
      for (const statement of statements) await attempt(() => runAlone(db, statement), [TIMED_OUT])
    })
    await record(db)
    return
  }
  await attempt(() =>
    transaction(db, async (tx) => {
      await tx`select set_config('lock_timeout', ${String(LOCK_WAIT_MS)}, true)`
      for (const statement of statements) await tx.unsafe(statement)
      await record(tx)
    }),
  )
}

const isConcurrent = (statement: string) => /\bconcurrently\b/i.test(statement)

/** Building an index concurrently locks nobody out, and would leave half of it if it gave up. */
async function runAlone(db: Tx, statement: string) {
  const wait = isConcurrent(statement) ? 0 : LOCK_WAIT_MS
  await db`select set_config('lock_timeout', ${String(wait)}, false)`
  await db.unsafe(statement)
}

type Retry = {
  name: string
  onNotice: (line: string) => void
  /** The errors after which the work is repeated. */
  codes: string[]
}

/** Repeats work that did not get its locks, after growing pauses. */
async function untilUnlocked(work: () => Promise<unknown>, { name, onNotice, codes }: Retry) {
  const until = performance.now() + GIVE_UP_MS
  const isLocked = (error: unknown) =>
    error instanceof Error && 'code' in error && codes.includes(String(error.code))
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(2 * ms, LONGEST_PAUSE_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= until) throw error
      onNotice(
        `migration ${name} waits for a table that others keep locked, like a backup: ` +
          `next try in ${ms / 1_000} s`,
      )
      await pause(ms)
    }
  }
}
