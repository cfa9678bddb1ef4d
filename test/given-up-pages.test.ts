import { observeDatabase } from '@parley/server/core/database-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { expect, test } from 'vitest'
import { useGivenUpJobs } from './support/given-up-jobs.ts'
import { refusal } from './support/refusal.ts'
import { sample } from './support/scrape.ts'

const { world, givenUpJobs, retry, deleteJobsLater } = useGivenUpJobs()

test('pages of given-up jobs leave out none when one of the page before is retried', async () => {
  deleteJobsLater()
  const { db, appId, operator } = world()
  const payload = { jobs: [{ appId }], since: new Date().toISOString(), tries: 0 }
  await db`
    select graphile_worker.add_job('gone', ${db.json(payload)}::json)
    from generate_series(1, 5)`
  await db`update graphile_worker._private_jobs set attempts = max_attempts, updated_at = now()`
  const ids = (await givenUpJobs()).map(({ id }) => id)
  const second = await operator.jobs.list({ appId, limit: 2, offset: 2 })
  expect(second.jobs.map(({ id }) => id)).toEqual(ids.slice(2, 4))
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await operator.jobs.list({ appId, limit: 2, cursor })
    seen.push(...page.jobs.map(({ id }) => id))
    await retry(page.jobs[0]?.id ?? '')
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  expect(seen).toEqual(ids)
  const forged = Buffer.from('["1","x"]').toString('base64url')
  expect(await refusal(operator.jobs.list({ appId, cursor: forged }))).toMatchObject({
    code: 'VALIDATION_ERROR',
  })
})

test('a job that is retried waits behind jobs of the running round', async () => {
  deleteJobsLater()
  const { db, appId } = world()
  const payload = { jobs: [{ appId }], since: new Date().toISOString(), tries: 0 }
  const add = (task: string, rounds: number[], inHours = 0) => db`
    select graphile_worker.add_job(
      ${task}, ${db.json(payload)}::json,
      priority => round, run_at => now() + ${inHours} * interval '1 hour'
    )
    from unnest(${rounds}::int[]) as round`
  await add('gone', [3, 8, 9])
  await add('gone', [5], 1)
  await add('of another queue', [6])
  const rounds = () => db`
    select priority as round, is_available as "isWaiting"
    from graphile_worker._private_jobs
    order by priority, id`
  await db`
    update graphile_worker._private_jobs
    set attempts = max_attempts, updated_at = now()
    where priority = 3`
  const [job] = await givenUpJobs()
  await retry(job?.id ?? '')
  expect((await rounds()).map(({ round }) => round)).toEqual([5, 6, 8, 8, 9])
})

test('waiting jobs are counted however many others were given up before', async () => {
  deleteJobsLater()
  const { db, pool } = world()
  await db`
    select graphile_worker.add_job('given-up', '{}', max_attempts := 1)
    from generate_series(1, 3)`
  await db`update graphile_worker._private_jobs set attempts = max_attempts`
  await db`select graphile_worker.add_job('behind', '{}', run_at := now() + interval '1 day')`
  const metrics = createMetrics()
  const isReporter = async () => true
  await observeDatabase(metrics, { db: pool, poolSize: 1, isReporter, mostRows: 3 })()
  const text = await metrics.registry.metrics()
  expect(sample(text, 'parley_jobs_waiting{task="given-up",state="dead"}')).toBe(3)
  expect(sample(text, 'parley_jobs_waiting{task="behind",state="waiting"}')).toBe(1)
})
