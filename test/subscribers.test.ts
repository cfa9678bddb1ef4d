import type { ServerResponse } from 'node:http'
import { acceptedTasks } from '@parley/server/core/jobs'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ageTriedJobs } from './support/aged-jobs.ts'
import { idle } from './support/idle.ts'
import { until } from './support/until.ts'
import { useWorldWithProvider } from './support/world.ts'

const { world, provider } = useWorldWithProvider()
beforeEach(() => void provider().forget())

/** The calls that the provider received. */
const calls = () => provider().calls.map(({ method, path, body }) => ({ method, path, body }))

test('a user becomes a subscriber with the first token, updated with the profile', async () => {
  await world().backend.users.sync({ users: [{ id: 'ana', name: 'Old' }] })
  await world().backend.users.put({ userId: 'ana', name: 'Older' })
  await idle(world())
  expect(calls()).toEqual([])
  const profile = { name: 'Ana', image: 'https://example.com/ana.png' }
  await world().backend.tokens.create({ userId: 'ana', email: 'ana@example.com', ...profile })
  await idle(world())
  const fields = {
    firstName: 'Ana',
    email: 'ana@example.com',
    avatar: 'https://example.com/ana.png',
  }
  expect(calls()).toEqual([
    { method: 'PATCH', path: '/v2/subscribers/ana', body: fields },
    { method: 'POST', path: '/v2/subscribers', body: { subscriberId: 'ana', ...fields } },
  ])
  await world().backend.tokens.create({ userId: 'ana', ...profile })
  await world().backend.users.put({ userId: 'ana', custom: { plan: 'pro' } })
  await idle(world())
  expect(calls()).toHaveLength(2)
  await world().backend.users.put({ userId: 'ana', name: 'Anna', image: null })
  await idle(world())
  expect(calls().slice(2)).toEqual([
    {
      method: 'PATCH',
      path: '/v2/subscribers/ana',
      body: { firstName: 'Anna', email: 'ana@example.com', avatar: null },
    },
  ])
})

test('what a user clears in their profile is cleared at the provider', async () => {
  const profile = { name: 'Iris', email: 'iris@example.com', image: 'https://example.com/i.png' }
  await world().backend.tokens.create({ userId: 'iris', ...profile })
  await idle(world())
  expect(provider().subscribers.get('iris')).toEqual({
    firstName: 'Iris',
    email: 'iris@example.com',
    avatar: 'https://example.com/i.png',
  })
  await world().backend.users.put({ userId: 'iris', email: null, image: null })
  await idle(world())
  expect(provider().subscribers.get('iris')).toEqual({
    firstName: 'Iris',
    email: null,
    avatar: null,
  })
})

test('the provider gets all device tokens of a kind, none once the last is deleted', async () => {
  const ben = await world().user('ben')
  await idle(world())
  provider().forget()
  const path = '/v1/subscribers/ben/credentials'
  await ben.devices.create({ platform: 'android', provider: 'fcm', token: 'f1', deviceId: 'phone' })
  await idle(world())
  // The provider may not know a user who is older than its set-up.
  expect(calls()).toEqual([
    {
      method: 'PATCH',
      path: '/v2/subscribers/ben',
      body: expect.objectContaining({ firstName: 'ben' }),
    },
    { method: 'PUT', path, body: { providerId: 'fcm', credentials: { deviceTokens: ['f1'] } } },
  ])
  await ben.devices.create({ platform: 'android', provider: 'fcm', token: 'f2' })
  await idle(world())
  expect(calls().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'fcm', credentials: { deviceTokens: ['f1', 'f2'] } },
  })
  await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'a1' })
  await idle(world())
  expect(calls().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'apns', credentials: { deviceTokens: ['a1'] } },
  })
  await ben.devices.create({
    platform: 'relay',
    provider: 'relay',
    token: 'ExponentPushToken[r1]',
    deviceId: 'tablet',
  })
  await idle(world())
  expect(calls().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'expo', credentials: { deviceTokens: ['ExponentPushToken[r1]'] } },
  })
  await ben.devices.delete({ deviceId: 'phone' })
  await idle(world())
  expect(calls().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'fcm', credentials: { deviceTokens: ['f2'] } },
  })
  await ben.devices.delete({ deviceId: 'tablet' })
  await idle(world())
  expect(calls().at(-1)).toEqual({ method: 'DELETE', path: `${path}/expo`, body: {} })
})

test('the device jobs of a user are run one after the other', async () => {
  const ivy = await world().user('ivy')
  await idle(world())
  onTestFinished(() => provider().behave())
  const held: ServerResponse[] = []
  provider().behave((response) => void held.push(response))
  await ivy.devices.create({ platform: 'ios', provider: 'apns', token: 'i1' })
  await ivy.devices.create({ platform: 'android', provider: 'fcm', token: 'i2' })
  const queues = await until(async () => {
    const jobs = await world().db<{ queueName: string | null }[]>`
      select job.queue_name
      from graphile_worker.jobs job
      where job.task_identifier = 'device'`
    return jobs.length === 2 && jobs.map(({ queueName }) => queueName)
  })
  expect(queues).toEqual(Array(2).fill(expect.stringMatching(/^subscribers-\d$/)))
  expect(new Set(queues).size).toBe(1)
  provider().behave()
  for (const response of held) response.writeHead(200).end('{}')
  await idle(world())
})

test('a device token that moves to another user is removed from the first', async () => {
  const [cleo, dora] = await world().users('cleo', 'dora')
  await cleo.devices.create({ platform: 'ios', provider: 'apns', token: 'shared' })
  await idle(world())
  provider().forget()
  await dora.devices.create({ platform: 'ios', provider: 'apns', token: 'shared' })
  await idle(world())
  expect(calls()).toContainEqual({
    method: 'DELETE',
    path: '/v1/subscribers/cleo/credentials/apns',
    body: {},
  })
  expect(calls()).toContainEqual({
    method: 'PUT',
    path: '/v1/subscribers/dora/credentials',
    body: { providerId: 'apns', credentials: { deviceTokens: ['shared'] } },
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
    calls()
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
  expect(calls()).toMatchObject([
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
  expect(calls().map(({ method }) => method)).toEqual(['PATCH', 'PATCH', 'PATCH', 'POST'])
  expect(provider().subscribers.get('gina')).toMatchObject({ firstName: 'Gina' })

  provider().forget()
  provider().behave(provider().answer(503))
  const gina = await world().user('gina')
  await gina.devices.create({ platform: 'ios', provider: 'apns', token: 'late' })
  await until(() => provider().calls.length >= 2)
  provider().behave()
  await idle(world())
  expect(calls().at(-1)).toEqual({
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
  expect(calls()).toHaveLength(1)
  await hugo.devices.create({ platform: 'ios', provider: 'apns', token: 'refused' })
  await idle(world())
  expect(calls()).toHaveLength(2)
})

test('a user becomes a subscriber whatever users of the same id there are elsewhere', async () => {
  const stranger = await world().stranger()
  await stranger.tokens.create({ userId: 'same' })
  await idle(world())
  provider().forget()
  await world().backend.tokens.create({ userId: 'same' })
  await idle(world())
  expect(calls().map(({ path }) => path)).toEqual(['/v2/subscribers/same'])
})
