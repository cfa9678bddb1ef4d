import type { Db } from '@parley/server/db/client'
import { expireGivenUp } from '@parley/server/jobs/given-up'
import { scheduleCleanups } from '@parley/server/jobs/schedule-cleanups'
import { timings } from '@parley/server/jobs/timings'
import { expect, test } from 'vitest'
import { insertGivenUpJob, stepsOn } from './support/given-up-job.ts'
import { silentLog } from './support/jobs.ts'
import { whileRowLocked } from './support/locks.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** A job that was given up long ago, and whether it is still there. */
async function insertOldJob() {
  const { db, appId } = world()
  const id = await insertGivenUpJob(world(), appId)
  await db`
    update graphile_worker._private_jobs
    set updated_at = now() - interval '8 days'
    where id = ${id}`
  const left = () => db`
    select
    from graphile_worker._private_jobs
    where id = ${id}`
  return { id, isLeft: async () => (await left()).length > 0 }
}

test('a server without jobs deletes those that were given up long ago', async () => {
  const { isLeft } = await insertOldJob()
  await world().cleanup.run()
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
  const counting: Pick<Db, 'use'> = {
    use: (work, until) =>
      pool.use(async (connection, deadline) => {
        const before = await count()
        const result = await work(connection, deadline)
        deleted.push(before - (await count()))
        return result
      }, until),
  }
  await expireGivenUp(stepsOn(counting))
  expect(deleted).toEqual([100, 100, 25, 0])
  expect(await count()).toBe(225)
  await db`delete from graphile_worker._private_jobs`
})

test('a given-up job that is retried while the cleanup looks is kept', async () => {
  const { db, pool } = world()
  const { id, isLeft } = await insertOldJob()
  await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from graphile_worker._private_jobs
      where id = ${id}
      for update`,
    async (sql) => {
      const expiring = expireGivenUp(stepsOn(pool))
      await sql`
        update graphile_worker._private_jobs
        set attempts = 0
        where id = ${id}`
      await expiring
    },
  )
  expect(await isLeft()).toBe(true)
  await db`delete from graphile_worker._private_jobs`
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
