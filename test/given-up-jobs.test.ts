import { expireGivenUp } from '@parley/server/jobs/given-up'
import { beforeEach, expect, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { idle } from './support/idle.ts'
import { refusal } from './support/refusal.ts'
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
  expect(job).toMatchObject({ task: 'push-message', size: 1 })
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

/** What the queue's table has of jobs. */
const storedJobs = async () => {
  const rows = await world().db<{ payload: string }[]>`
    select job.payload::text as payload
    from graphile_worker._private_jobs job`
  return rows.map(({ payload }) => payload).join('\n')
}
const retryAll = async () => {
  for (const { id } of await givenUpJobs()) await retry(id)
  await idle(world())
}

test('a refused push is kept without its text, and is not sent of what was deleted', async () => {
  const [cleo, dan] = [
    await world().user('cleo', { name: 'Cleo Claro' }),
    await world().user('dan', { name: 'Dan Dorado' }),
  ]
  await idle(world())
  provider().behave(provider().answer(422))
  const { id: channelId } = await cleo.channels.create({
    type: 'group',
    name: 'Surprise party',
    memberIds: ['dan'],
  })
  const gone = await dan.messages.send({ channelId, text: 'a cake for Ana' })
  const kept = await cleo.messages.send({ channelId, text: 'and balloons' })
  await dan.reactions.add({ channelId, messageId: kept.id, emoji: '🎈' })
  await idle(world())
  const tasks = async () => (await givenUpJobs()).map(({ task }) => task).sort()
  expect(await tasks()).toEqual(['push-invite', 'push-message', 'push-message', 'push-reaction'])
  expect(await storedJobs()).not.toMatch(/cake|balloons|party|claro|dorado/i)

  await dan.messages.delete({ channelId, messageId: gone.id })
  provider().forget()
  await retryAll()
  // Those that are refused again are of what is there.
  const sent = provider().triggered()
  expect(sent.map(({ name }) => name).sort()).toEqual(['channel-invite', 'new-message', 'reaction'])
  expect(JSON.stringify(sent)).not.toContain('cake')

  await world().backend.users.delete({ userId: 'dan' })
  provider().behave()
  provider().forget()
  await retryAll()
  expect(provider().triggered()).toEqual([])
  expect(await givenUpJobs()).toEqual([])
})

test('a push that is put off is made again of the message as it is then', async () => {
  const { id: messageId, channelId } = await sendMessage()
  const [ana] = await world().users('ana')
  const { id: goneId } = await ana.messages.send({ channelId, text: 'never mind' })
  await idle(world())
  provider().forget()
  provider().behave(provider().answer(503))
  for (const id of [messageId, goneId]) await stageOld(id, { hours: 0 })
  const { db } = world()
  await until(async () => {
    const held = await db<{ size: number }[]>`
      update graphile_worker._private_jobs
      set run_at = now() + interval '1 hour'
      where (payload->>'tries')::int > 0
        and locked_at is null
      returning json_array_length(payload->'jobs') as size`
    return held.reduce((sum, { size }) => sum + size, 0) === 2
  })
  await ana.messages.edit({ channelId, messageId, text: 'good morning' })
  await ana.messages.delete({ channelId, messageId: goneId })
  provider().forget()
  provider().behave()
  await db`
    update graphile_worker._private_jobs
    set run_at = now()`
  await idle(world())
  expect(provider().triggered()).toMatchObject([
    {
      to: 'ben',
      transactionId: `${messageId}:ben:new-message`,
      payload: { messagePreview: 'good morning' },
    },
  ])
})

test('pushes that an earlier version stored with their texts are made again, too', async () => {
  const { id: messageId, channelId } = await sendMessage()
  const [ana, ben] = await world().users('ana', 'ben')
  await ana.reactions.add({ channelId, messageId, emoji: '👋' })
  await ben.reactions.add({ channelId, messageId, emoji: '👋' })
  await idle(world())
  provider().forget()
  const { appId, db } = world()
  const stored = (name: string, to: string, payload: object) => ({
    appId,
    name,
    to,
    payload: { channelId, messagePreview: 'as it was', ...payload },
    transactionId: `${name === 'channel-invite' ? channelId : messageId}:${to}:${name}`,
  })
  const batches = [
    [stored('thread-reply', 'ben', { threadId: 'a' }), stored('mention', 'ana', { messageId })],
    [stored('reaction', 'ana', { messageId, reactorId: 'ben', emoji: '👋' })],
    [stored('channel-invite', 'ben', { invitedBy: 'ana' })],
  ]
  for (const jobs of batches)
    await db`
      select
      from graphile_worker.add_job(
        'push-event',
        ${db.json({ jobs, since: new Date().toISOString(), tries: 3 })}::json
      )`
  await idle(world())
  const sent = provider().triggered()
  expect(sent.map(({ name, to }) => `${name} to ${to}`).sort()).toEqual([
    'channel-invite to ben',
    'new-message to ben',
    'reaction to ana',
  ])
  expect(JSON.stringify(sent)).not.toContain('as it was')
})
