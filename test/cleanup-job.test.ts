import { createMetrics } from '@parley/server/core/metrics'
import { ConnectionClosedError } from '@parley/server/db/single-socket'
import { createCleanupJob } from '@parley/server/jobs/cleanup-job'
import { expireGivenUp } from '@parley/server/jobs/given-up'
import { scheduleCleanups } from '@parley/server/jobs/schedule-cleanups'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import type { JobHelpers } from './support/added-jobs.ts'
import { insertGivenUpJob } from './support/given-up-job.ts'
import { silentLog } from './support/jobs.ts'
import { whileRowLocked } from './support/locks.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Runs the job once; answers what was logged, with its level, and counted as failed. */
async function run({ db = world().pool, signal = new AbortController().signal } = {}) {
  const lines: string[] = []
  const add = (level: string) => (facts: object, message: string) => {
    const { task } = facts as { task?: string }
    lines.push(`${level}: ${message}, ${task}`)
  }
  const log = { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') }
  const metrics = createMetrics()
  const { cleanup } = world()
  const job = createCleanupJob({ db, cleanup, metrics, log })
  await job({}, { abortSignal: signal } as JobHelpers) // all that it uses of them
  const { values } = await metrics.cleanupFailures.get()
  return { lines, failures: values.map(({ value, labels }) => [labels.task, value]) }
}

/** A job that was given up long ago, and whether it is still there. */
async function insertOldJob() {
  const { db, appId } = world()
  const id = await insertGivenUpJob(world(), appId)
  await db`
    update graphile_worker._private_jobs
    set updated_at = now() - interval '8 days'
    where id = ${id}`
  const left = () => db`select from graphile_worker._private_jobs where id = ${id}`
  return { id, isLeft: async () => (await left()).length > 0 }
}

/** The pool of the world, where every statement fails with this error. */
const failing = (error: Error) => ({ ...world().pool, use: () => Promise.reject(error) })

test('a cleanup deletes jobs that were given up long ago, unless it was aborted', async () => {
  const { isLeft } = await insertOldJob()
  await run({ signal: AbortSignal.abort() })
  expect(await isLeft()).toBe(true)
  expect(await run()).toEqual({ lines: [], failures: [['given_up_jobs', 0]] })
  expect(await isLeft()).toBe(false)
})

test('jobs that were given up long ago are deleted in steps, and later ones kept', async () => {
  const { db, pool, appId } = world()
  await insertGivenUpJob(world(), appId) // the tables of the queue
  await db`delete from graphile_worker._private_jobs`
  const payload = db.json({ jobs: [{ appId }], since: new Date().toISOString(), tries: 0 })
  await db`
    select graphile_worker.add_job('preview', ${payload}::json)
    from generate_series(1, 450)`
  await db`
    update graphile_worker._private_jobs
    set attempts = max_attempts, updated_at = now() - make_interval(days => 6 + 2 * (id % 2)::int)`
  const count = async () => (await db`select from graphile_worker._private_jobs`).length
  const deleted: number[] = []
  await expireGivenUp({
    use: (work, until) =>
      pool.use(async (connection, deadline) => {
        const before = await count()
        const result = await work(connection, deadline)
        deleted.push(before - (await count()))
        return result
      }, until),
  })
  expect(deleted).toEqual([100, 100, 25, 0])
  expect(await count()).toBe(225)
  await db`delete from graphile_worker._private_jobs`
})

test('a given-up job that is retried while the cleanup looks is kept', async () => {
  const { db, pool } = world()
  const { id, isLeft } = await insertOldJob()
  await whileRowLocked(
    world(),
    (sql) => sql`select from graphile_worker._private_jobs where id = ${id} for update`,
    async (sql) => {
      const expiring = expireGivenUp(pool)
      await sql`update graphile_worker._private_jobs set attempts = 0 where id = ${id}`
      await expiring
    },
  )
  expect(await isLeft()).toBe(true)
  await db`delete from graphile_worker._private_jobs`
})

test('a cleanup that an outage interrupts is logged at debug only, and not counted', async () => {
  const { lines, failures } = await run({ db: failing(new ConnectionClosedError()) })
  expect(lines).toEqual(['debug: cleanup failed, given_up_jobs'])
  expect(failures).toEqual([['given_up_jobs', 0]])
})

test('a cleanup that fails because of a bug is logged as an error, and counted', async () => {
  const { lines, failures } = await run({ db: failing(new Error('a bug')) })
  expect(lines).toEqual(['error: cleanup failed, given_up_jobs'])
  expect(failures).toEqual([['given_up_jobs', 1]])
})

test('all processes together enqueue one cleanup a minute, and one waits at most', async () => {
  const { db, pool, appId } = world()
  await insertGivenUpJob(world(), appId) // the tables of the queue
  /** A process that starts; answers how often each waiting cleanup was enqueued again. */
  const start = async () => {
    await scheduleCleanups({ db: pool, timings, log: silentLog })()
    const waiting = await db<{ revision: number }[]>`
      select revision
      from graphile_worker._private_jobs
      where key = 'cleanup'
        or task_id = (select id from graphile_worker._private_tasks where identifier = 'cleanup')`
    return waiting.map(({ revision }) => revision)
  }
  const enqueuedBefore = (seconds: number) => db`
    update service
    set value = now() - ${seconds} * interval '1 second'
    where key = 'cleanup_enqueued_at'`
  expect(await start()).toEqual([0])
  expect(await start()).toEqual([0])
  await enqueuedBefore(30)
  expect(await start()).toEqual([0])
  await enqueuedBefore(60)
  expect(await start()).toEqual([1])
})
