import { createMetrics } from '@parley/server/core/metrics'
import { ConnectionClosedError } from '@parley/server/db/single-socket'
import { createCleanupJob } from '@parley/server/jobs/cleanup-job'
import { scheduleCleanups } from '@parley/server/jobs/schedule-cleanups'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import type { JobHelpers } from './support/added-jobs.ts'
import { insertGivenUpJob } from './support/given-up-job.ts'
import { silentLog } from './support/jobs.ts'
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

/** A job that was given up long ago; resolves to whether it is still there. */
async function insertOldJob() {
  const { db, appId } = world()
  const id = await insertGivenUpJob(world(), appId)
  await db`
    update graphile_worker._private_jobs
    set updated_at = now() - interval '8 days'
    where id = ${id}`
  const left = () => db`select from graphile_worker._private_jobs where id = ${id}`
  return async () => (await left()).length > 0
}

/** The pool of the world, where every statement fails with this error. */
const failing = (error: Error) => ({ ...world().pool, use: () => Promise.reject(error) })

test('a cleanup deletes jobs that were given up long ago, unless it was aborted', async () => {
  const isLeft = await insertOldJob()
  await run({ signal: AbortSignal.abort() })
  expect(await isLeft()).toBe(true)
  expect(await run()).toEqual({ lines: [], failures: [['given_up_jobs', 0]] })
  expect(await isLeft()).toBe(false)
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
