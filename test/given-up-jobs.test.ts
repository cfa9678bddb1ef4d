import { observeDatabase } from '@parley/server/core/database-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { expireGivenUp } from '@parley/server/jobs/given-up'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { idle } from './support/idle.ts'
import { refusal } from './support/refusal.ts'
import { sample } from './support/scrape.ts'
import { until } from './support/until.ts'
import { useWorldWithProvider } from './support/world.ts'

const errors: object[] = []
const { world, provider } = useWorldWithProvider({
  log: {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (facts, message) => void errors.push({ ...facts, message }),
  },
})
beforeEach(async () => {
  provider().behave()
  await idle(world())
  await world().db`delete from graphile_worker._private_jobs`
  provider().forget()
  errors.length = 0
})

const givenUpJobs = async (appId = world().appId) =>
  (await world().operator.jobs.list({ appId, state: 'failed' })).jobs
const retry = (jobId: string, appId = world().appId) =>
  world().operator.jobs.retry({ appId, jobId })

/** For a test that leaves jobs which nothing runs. */
const deleteJobsLater = () =>
  onTestFinished(async () => void (await world().db`delete from graphile_worker._private_jobs`))

/** Stages the push of a message, as its send did hours ago. */
const stageOld = (messageId: string, { appId = world().appId, hours = 7 } = {}) => world().db`
  insert into staged_jobs (task, payload, created_at)
  values (
    'push-message',
    ${world().db.json({ appId, messageId })},
    now() - make_interval(hours => ${hours})
  )`
const sendMessage = async () => {
  const [ana] = await world().users('ana', 'ben')
  const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const message = await ana.messages.send({ channelId: channel.id, text: 'hello' })
  await idle(world())
  provider().forget()
  return message
}
/** The job that is given up next. It is stored first and logged then. */
const nextGivenUp = async () => {
  const job = await until(async () => (await givenUpJobs())[0])
  await until(() => errors.length > 0)
  return job
}
/** Gives up the push of a new message. */
const giveUp = async () => {
  const { id } = await sendMessage()
  await stageOld(id)
  return { job: await nextGivenUp(), messageId: id }
}

test('a job that was given up is listed with its reason, and runs when it is retried', async () => {
  const { job, messageId } = await giveUp()
  expect(job).toMatchObject({ task: 'push-message', size: 1, reason: 'too old' })
  expect(Date.parse(job.failedAt) - Date.parse(job.stagedAt)).toBeGreaterThanOrEqual(7 * 3_600_000)
  expect(errors).toMatchObject([{ message: 'job given up: too old', task: 'push-message' }])
  expect(provider().triggered()).toEqual([])
  await retry(job.id)
  await idle(world())
  expect(provider().triggered()).toMatchObject([{ to: 'ben', payload: { messageId } }])
  expect(await givenUpJobs()).toEqual([])
  expect(await refusal(retry(job.id))).toMatchObject({ code: 'NOT_FOUND' })
})

test('the provider is the reason of a push that got too old because of it', async () => {
  const { id } = await sendMessage()
  provider().behave(provider().answer(503))
  await stageOld(id, { hours: 0 })
  await ageTriedJobs(world())
  const job = await nextGivenUp()
  expect(job).toMatchObject({ task: 'push-event', size: 1 })
  expect(job.reason).toMatch(/^too old: .*answered 503/)
  expect(errors).toMatchObject([{ reason: expect.stringContaining('answered 503') }])
  provider().behave()
  provider().forget()
  await retry(job.id)
  await idle(world())
  expect(provider().triggered()).toEqual([
    {
      name: 'new-message',
      to: 'ben',
      transactionId: `${id}:ben:new-message`,
      payload: expect.anything(),
    },
  ])
})

test('the jobs of an app that were given up are listed and retried by its id alone', async () => {
  const other = await world().operator.apps.create({ name: 'Other' })
  const { id } = await sendMessage()
  // Both are staged in one statement, so they become one batch.
  const payloads = [world().appId, other.id].map((appId) =>
    JSON.stringify({ appId, messageId: id }),
  )
  await world().db`
    insert into staged_jobs (task, payload, created_at)
    select 'push-message', payload::jsonb, now() - interval '7 hours'
    from unnest(${payloads}::text[]) as payload`
  const [[ours], [theirs]] = await until(async () => {
    const found = await Promise.all([givenUpJobs(), givenUpJobs(other.id)])
    return found.every((jobs) => jobs.length === 1) && found
  })
  expect([ours?.size, theirs?.size]).toEqual([1, 1])
  expect(ours?.id).not.toBe(theirs?.id)
  expect(await refusal(retry(theirs?.id ?? ''))).toMatchObject({ code: 'NOT_FOUND' })
  expect(await givenUpJobs(other.id)).toHaveLength(1)
  const noApp = '00000000-0000-4000-8000-000000000000'
  expect(await refusal(givenUpJobs(noApp))).toMatchObject({ code: 'NOT_FOUND' })
})

test('a job that waits is not listed, nor can it be retried', async () => {
  const { db, appId } = world()
  const [waiting] = await db<{ id: string }[]>`
    select id
    from graphile_worker.add_job(
      'unknown',
      ${db.json({ jobs: [{ appId }], since: new Date().toISOString(), tries: 0 })}::json,
      run_at => now() + interval '1 hour'
    )`
  expect(await givenUpJobs()).toEqual([])
  expect(await refusal(retry(waiting?.id ?? ''))).toMatchObject({ code: 'NOT_FOUND' })
  await db`delete from graphile_worker._private_jobs`
})

test('jobs that were given up are kept for a week', async () => {
  const { job } = await giveUp()
  const failedDaysAgo = (days: number) => world().db`
    update graphile_worker._private_jobs
    set updated_at = now() - make_interval(days => ${days})
    where id = ${job.id}`
  await failedDaysAgo(6)
  await expireGivenUp(world().pool)
  expect(await givenUpJobs()).toHaveLength(1)
  await failedDaysAgo(8)
  await expireGivenUp(world().pool)
  expect(await givenUpJobs()).toEqual([])
})

test('the cleanup deletes jobs that were given up more than a week ago', async () => {
  const { job } = await giveUp()
  const { db } = world()
  await db`
    update graphile_worker._private_jobs
    set updated_at = now() - interval '8 days'
    where id = ${job.id}`
  await db`select graphile_worker.add_job('cleanup', '{}')`
  await until(async () => (await givenUpJobs()).length === 0)
})

test('pages of given-up jobs leave out none when one of the page before is retried', async () => {
  deleteJobsLater()
  const { db, appId, operator } = world()
  const payload = { jobs: [{ appId }], since: new Date().toISOString(), tries: 0 }
  await db`
    select graphile_worker.add_job('gone', ${db.json(payload)}::json)
    from generate_series(1, 5)`
  await db`update graphile_worker._private_jobs set attempts = max_attempts, updated_at = now()`
  const ids = (await givenUpJobs()).map(({ id }) => id)
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await operator.jobs.list({ appId, limit: 2, cursor })
    seen.push(...page.jobs.map(({ id }) => id))
    await retry(seen.at(-1) ?? '')
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  expect(seen).toEqual(ids)
  const forged = Buffer.from('["1","x"]').toString('base64url')
  expect(await refusal(operator.jobs.list({ appId, cursor: forged }))).toMatchObject({
    code: 'VALIDATION_ERROR',
  })
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
