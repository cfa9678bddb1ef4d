import { acceptedTasks } from '@parley/server/core/jobs'
import { KEPT_AN_HOUR } from '@parley/server/jobs/push/limit-kept'
import { createProvider } from '@parley/server/jobs/push/provider'
import { ProviderRefusedError } from '@parley/server/jobs/push/provider-call'
import { createSubscribers } from '@parley/server/jobs/push/subscribers'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { idle } from './support/idle.ts'
import { silentLog } from './support/jobs.ts'
import { sample } from './support/scrape.ts'
import { until } from './support/until.ts'
import { useWorldWithProvider } from './support/world.ts'

const { world, provider } = useWorldWithProvider()
beforeEach(() => void provider().forget())

test('a user becomes a subscriber with the first token, updated with the profile', async () => {
  await world().backend.users.sync({ users: [{ id: 'ana', name: 'Old' }] })
  await world().backend.users.put({ userId: 'ana', name: 'Older' })
  await idle(world())
  expect(provider().requests()).toEqual([])
  const profile = { name: 'Ana', image: 'https://example.com/ana.png' }
  await world().backend.tokens.create({ userId: 'ana', email: 'ana@example.com', ...profile })
  await idle(world())
  const fields = {
    firstName: 'Ana',
    email: 'ana@example.com',
    avatar: 'https://example.com/ana.png',
  }
  expect(provider().requests()).toEqual([
    { method: 'PATCH', path: '/v2/subscribers/ana', body: fields },
    { method: 'POST', path: '/v2/subscribers', body: { subscriberId: 'ana', ...fields } },
  ])
  await world().backend.tokens.create({ userId: 'ana', ...profile })
  await world().backend.users.put({ userId: 'ana', custom: { plan: 'pro' } })
  await idle(world())
  expect(provider().requests()).toHaveLength(2)
  await world().backend.users.put({ userId: 'ana', name: 'Anna', image: null })
  await idle(world())
  expect(provider().requests().slice(2)).toEqual([
    {
      method: 'PATCH',
      path: '/v2/subscribers/ana',
      body: { firstName: 'Anna', email: 'ana@example.com', avatar: null },
    },
  ])
})

test('a field that a user clears in their profile is cleared at the provider', async () => {
  const profile = { name: 'Iris', email: 'iris@example.com', image: 'https://example.com/i.png' }
  await world().backend.tokens.create({ userId: 'iris', ...profile })
  await idle(world())
  expect(provider().subscribers.get('iris')).toEqual({
    firstName: 'Iris',
    email: 'iris@example.com',
    avatar: 'https://example.com/i.png',
  })
  // Each field by itself is a change.
  await world().backend.users.put({ userId: 'iris', email: 'iris@example.org' })
  await idle(world())
  expect(provider().subscribers.get('iris')).toMatchObject({ email: 'iris@example.org' })
  await world().backend.users.put({ userId: 'iris', email: null, image: null })
  await idle(world())
  expect(provider().subscribers.get('iris')).toEqual({
    firstName: 'Iris',
    email: null,
    avatar: null,
  })
})

test('deleted users are removed as subscribers, and recreated ones are added again', async () => {
  await world().users('x:y', 'emil', 'fred')
  await idle(world())
  provider().forget()
  provider().subscribers.clear() // so that it answers 404
  await world().backend.users.delete({ userId: 'emil' })
  await world().backend.users.bulkDelete({ userIds: ['fred', 'x:y', 'nobody'] })
  await idle(world())
  expect(
    provider()
      .requests()
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  ).toEqual([
    'DELETE /v2/subscribers/emil',
    'DELETE /v2/subscribers/fred',
    'DELETE /v2/subscribers/x%3Ay',
  ])
  provider().forget()
  await world().user('emil')
  await idle(world())
  expect(provider().requests()).toMatchObject([
    { method: 'PATCH', path: '/v2/subscribers/emil' },
    { method: 'POST', path: '/v2/subscribers', body: { subscriberId: 'emil' } },
  ])
})

test('a deleted user is removed as subscriber, however long the provider was away', async () => {
  const { backend } = world()
  await world().users('ivo')
  await idle(world())
  provider().forget()
  onTestFinished(() => provider().behave())
  provider().behave(provider().answer(503))
  await backend.users.delete({ userId: 'ivo' })
  await ageTriedJobs(world())
  const tries = provider().calls.length
  await until(() => provider().calls.length > tries)
  expect(provider().subscribers.has('ivo')).toBe(true)
  provider().behave()
  await idle(world())
  expect(provider().subscribers.has('ivo')).toBe(false)
})

test('without jobs only the removal of deleted users is staged, for the provider there is', () => {
  const staged = (isOn: boolean, hasPush: boolean) => acceptedTasks({ isOn, hasPush })
  expect(staged(false, false)).toEqual([])
  expect(staged(false, true)).toEqual(['subscriber-removal'])
  expect(staged(true, false)).toEqual(['preview'])
  expect(new Set(staged(true, true))).toEqual(
    new Set([
      'preview',
      ...['push-message', 'push-reaction', 'push-invite'],
      ...['subscriber', 'subscriber-removal', 'device'],
    ]),
  )
})

test('profiles and device tokens reach a provider that was unavailable', async () => {
  onTestFinished(() => provider().behave())
  provider().behave((response) => {
    if (provider().calls.length === 2) provider().behave()
    response.writeHead(503).end()
  })
  await world().user('gina', { name: 'Gina' })
  await idle(world())
  expect(
    provider()
      .requests()
      .map(({ method }) => method),
  ).toEqual(['PATCH', 'PATCH', 'PATCH', 'POST'])
  expect(provider().subscribers.get('gina')).toMatchObject({ firstName: 'Gina' })

  provider().forget()
  provider().behave(provider().answer(503))
  const gina = await world().user('gina')
  await gina.devices.create({ platform: 'ios', provider: 'apns', token: 'late' })
  await until(() => provider().calls.length >= 2)
  provider().behave()
  await idle(world())
  expect(provider().requests().at(-1)).toEqual({
    method: 'PUT',
    path: '/v1/subscribers/gina/credentials',
    body: { providerId: 'apns', credentials: { deviceTokens: ['late'] } },
  })
})

test('a profile or a device that the provider refuses is not sent again', async () => {
  onTestFinished(() => provider().behave())
  provider().behave(provider().answer(422))
  const hugo = await world().user('hugo')
  await idle(world())
  expect(provider().requests()).toHaveLength(1)
  await hugo.devices.create({ platform: 'ios', provider: 'apns', token: 'refused' })
  await idle(world())
  expect(provider().requests()).toHaveLength(2)
})

test('a profile that the provider refuses is counted, and kept until a retry', async () => {
  const { backend, operator, metrics, appId } = world()
  const dan = await world().user('auth0|dan')
  await dan.devices.create({ platform: 'ios', provider: 'apns', token: 'ours' })
  await idle(world())
  await world().db`delete from graphile_worker._private_jobs`
  const givenUp = async (task: string) => {
    const counted = await metrics.registry.getSingleMetricAsString('parley_jobs_total')
    return sample(counted, `parley_jobs_total{task="${task}",outcome="given_up"}`)
  }
  const tasks = ['subscriber', 'device', 'subscriber-removal']
  const before = await Promise.all(tasks.map(givenUp))

  onTestFinished(() => provider().behave())
  provider().behave(provider().answer(400))
  await backend.users.put({ userId: 'auth0|dan', name: 'Dan' })
  await idle(world())
  await dan.devices.create({ platform: 'ios', provider: 'apns', token: 'next' })
  await idle(world())
  await backend.users.delete({ userId: 'auth0|dan' })
  const listed = await until(async () => {
    const { jobs } = await operator.jobs.list({ appId, state: 'failed' })
    return jobs.some(({ task }) => task === 'subscriber-removal') && jobs
  })
  expect(listed.map(({ task }) => task).sort()).toEqual([...tasks].sort())
  for (const { reason } of listed) expect(reason).toMatch(/^refused: (PATCH|DELETE) .* 400/)
  expect(await Promise.all(tasks.map(givenUp))).toEqual(before.map((count) => count + 1))
  // A retry waits for the other jobs about the user.
  const kept = await world().db<{ queueName: string | null }[]>`
    select distinct job.queue_name
    from graphile_worker.jobs job`
  expect(kept).toEqual([{ queueName: expect.stringMatching(/^subscribers-\d$/) }])

  expect(provider().subscribers.has('auth0|dan')).toBe(true)
  provider().behave()
  for (const { id } of listed) await operator.jobs.retry({ appId, jobId: id })
  await idle(world())
  expect(provider().subscribers.has('auth0|dan')).toBe(false)
  expect((await operator.jobs.list({ appId, state: 'failed' })).jobs).toEqual([])
})

test('refused removals are all kept for a retry, refused profiles only up to a limit', async () => {
  const { appId, pool: db, metrics } = world()
  const call = () => Promise.reject(new ProviderRefusedError('400'))
  const refusing = {
    ...createProvider(provider().settings),
    saveSubscriber: call,
    removeSubscriber: call,
  }
  const handlers = createSubscribers({ db, provider: refusing, metrics, log: silentLog })
  const kept: string[] = []
  const giveUp = async (task: string) => void kept.push(task)
  const context = { signal: AbortSignal.timeout(60_000), takenAt: new Date(), giveUp }
  const job = { appId, userId: 'nobody' }
  for (let number = 0; number <= KEPT_AN_HOUR; number++)
    for (const task of ['subscriber', 'subscriber-removal'] as const)
      await handlers[task]([job], { ...context, continueWith: () => {} })
  const of = (task: string) => kept.filter((each) => each === task).length
  expect([of('subscriber'), of('subscriber-removal')]).toEqual([KEPT_AN_HOUR, KEPT_AN_HOUR + 1])
})

test('a user becomes a subscriber although other apps have users of the same id', async () => {
  const stranger = await world().stranger()
  await stranger.tokens.create({ userId: 'same' })
  await idle(world())
  provider().forget()
  await world().backend.tokens.create({ userId: 'same' })
  await idle(world())
  expect(
    provider()
      .requests()
      .map(({ path }) => path),
  ).toEqual(['/v2/subscribers/same'])
})
