import { MAX_ATTEMPTS } from '@parley/server/core/jobs'
import { expireGivenUp } from '@parley/server/jobs/given-up'
import { expect, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { upTo } from './support/events.ts'
import { stepsOn } from './support/given-up-job.ts'
import { useGivenUpJobs } from './support/given-up-jobs.ts'
import { idle } from './support/idle.ts'
import { lockedJobs } from './support/locked-jobs.ts'
import { refusal } from './support/refusal.ts'
import { until } from './support/until.ts'

const { world, provider, errors, deleteJobsLater, ...jobs } = useGivenUpJobs()
const { givenUpJobs, nextGivenUp, retry, stageOld, sendMessage } = jobs

/** Gives up the push of a new message. */
const giveUp = async () => {
  const { id, channelId } = await sendMessage()
  await stageOld(id)
  return { job: await nextGivenUp(), messageId: id, channelId }
}

test('a job that was given up is listed with its reason, and runs when it is retried', async () => {
  const { job, messageId, channelId } = await giveUp()
  // No worker has tried it.
  const facts = { task: 'push-message', size: 1, attempts: 0, reason: 'too old' }
  expect(job.about).toEqual([{ messageId, channelId, userId: null }])
  expect(job).toMatchObject(facts)
  expect(Date.parse(job.failedAt) - Date.parse(job.stagedAt)).toBeGreaterThanOrEqual(7 * 3_600_000)
  expect(errors).toMatchObject([{ message: 'job given up: too old', task: 'push-message' }])
  expect(provider().triggered()).toEqual([])
  await retry(job.id)
  await idle(world())
  expect(provider().triggered()).toMatchObject([{ to: 'ben', payload: { messageId } }])
  expect(await givenUpJobs()).toEqual([])
  expect(await refusal(retry(job.id))).toMatchObject({ code: 'NOT_FOUND' })
  const { operator, appId } = world()
  const { entries } = await operator.audit.listOfApp({ appId, operation: 'jobs.retry' })
  expect(entries[0]).toMatchObject({ actor: { type: 'operator' }, target: { jobId: job.id } })
})

test('a job that was given up lists the first ten things that it is about', async () => {
  const { job } = await giveUp()
  deleteJobsLater()
  const { db, appId } = world()
  const about = upTo(11).map((n) => ({ appId, userId: `user${n}` }))
  await db`
    update graphile_worker._private_jobs
    set payload = jsonb_set(payload::jsonb, '{jobs}', ${db.json(about)})::json
    where id = ${job.id}`
  const [listed] = await givenUpJobs()
  expect(listed?.size).toBe(11)
  expect(listed?.about.map(({ userId }) => userId)).toEqual(upTo(10).map((n) => `user${n}`))
})

test('jobs of an app that are given up together keep all of what they are about', async () => {
  const messages = [await sendMessage(), await sendMessage()]
  const { db, appId } = world()
  const payloads = messages.map(({ id: messageId }) => JSON.stringify({ appId, messageId }))
  await db`
    insert into staged_jobs (task, payload, created_at)
    select 'push-message', payload::json, now() - interval '7 hours'
    from unnest(${payloads}::text[]) as payload`
  await nextGivenUp()
  await idle(world())
  const given = (await givenUpJobs()).flatMap(({ about }) => about)
  const sent = messages.map(({ id }) => id)
  expect(given.map(({ messageId }) => messageId).sort()).toEqual(sent.sort())
})

test('a job in its last attempt is not listed yet, and not retried', async () => {
  deleteJobsLater()
  await lockedJobs(world)('00000000-0000-0000-0000-000000000000', 0, { ago: '0 s' })
  const [job] = await world().db<{ id: string }[]>`
    select id::text
    from graphile_worker._private_jobs
    where attempts = max_attempts`
  expect(await givenUpJobs()).toEqual([])
  expect(await refusal(retry(job?.id ?? ''))).toMatchObject({ code: 'NOT_FOUND' })
})

test('a push that expired because of the provider is listed with that reason', async () => {
  const { id } = await sendMessage()
  provider().behave(provider().answer(503))
  await stageOld(id, { hours: 0 })
  await ageTriedJobs(world())
  const job = await nextGivenUp()
  expect(job).toMatchObject({ task: 'push-message', size: 1 })
  expect(job.attempts).toBeGreaterThan(0)
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

test('a push that the provider refuses at once is listed as one that failed once', async () => {
  provider().behave(provider().answer(422))
  const { id: messageId } = await sendMessage()
  // The invite to the message's channel is refused as well.
  const ofMessage = async () => (await givenUpJobs()).find(({ task }) => task === 'push-message')
  const job = await until(ofMessage)
  expect(job).toMatchObject({ attempts: 1 })
  await retry(job.id)
  await idle(world())
  const again = await ofMessage()
  expect(again).toMatchObject({ attempts: 1, reason: job.reason })
  provider().behave()
  provider().forget()
  await retry(again?.id ?? '')
  await idle(world())
  expect(provider().triggered()).toMatchObject([{ payload: { messageId } }])
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

test('a job that is retried has all of its attempts again, and no reason', async () => {
  deleteJobsLater()
  const { db, appId } = world()
  // No worker takes this task. Two workers have died of it, which gave it two attempts more.
  const attempts = MAX_ATTEMPTS + 2
  const kept = { attempts: 3, reason: 'the provider answered 503' }
  const payload = { jobs: [{ appId }], since: new Date().toISOString(), tries: 2, ...kept }
  const [job] = await db<{ id: string }[]>`
    select added.id::text as id
    from graphile_worker.add_job(
      'unknown', ${db.json(payload)}::json,
      max_attempts => ${attempts}
    ) added`
  const id = job?.id ?? ''
  await db`
    update graphile_worker._private_jobs
    set attempts = ${attempts}, last_error = 'a bug', run_at = now() + interval '1 day'
    where id = ${id}`
  expect(await givenUpJobs()).toMatchObject([{ id, attempts: 3, reason: 'a bug' }])
  await retry(id)
  const [left] = await db`
    select attempts, max_attempts, last_error, payload::jsonb - 'since' as payload,
      run_at <= now() as is_due
    from graphile_worker._private_jobs
    where id = ${id}`
  expect(left).toEqual({
    ...{ attempts: 0, maxAttempts: MAX_ATTEMPTS, lastError: null, isDue: true },
    payload: { jobs: [{ appId }], tries: 0 },
  })
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
  await expireGivenUp(stepsOn(world().pool))
  expect(await givenUpJobs()).toHaveLength(1)
  await failedDaysAgo(8)
  // A job that a worker runs is not given up, and neither is one that waits.
  const all = () => world().db`
    select
    from graphile_worker._private_jobs
    where id = ${job.id}`
  await world().db`
    update graphile_worker._private_jobs
    set locked_at = now(), locked_by = 'a worker'
    where id = ${job.id}`
  await expireGivenUp(stepsOn(world().pool))
  expect(await all()).toHaveLength(1)
  await world().db`
    update graphile_worker._private_jobs
    set locked_at = null, locked_by = null, max_attempts = attempts + 1,
      run_at = now() + interval '1 day'
    where id = ${job.id}`
  await expireGivenUp(stepsOn(world().pool))
  expect(await all()).toHaveLength(1)
  await world().db`
    update graphile_worker._private_jobs
    set max_attempts = attempts
    where id = ${job.id}`
  await expireGivenUp(stepsOn(world().pool))
  expect(await all()).toEqual([])
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
