import type { ServerResponse } from 'node:http'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { until } from './support/until.ts'
import { useWorldWithProvider } from './support/world.ts'

const { world, provider } = useWorldWithProvider()
beforeEach(() => void provider().forget())

test('the provider gets all device tokens of a kind, none once the last is deleted', async () => {
  const ben = await world().user('ben')
  await idle(world())
  provider().forget()
  const path = '/v1/subscribers/ben/credentials'
  await ben.devices.create({ platform: 'android', provider: 'fcm', token: 'f1', deviceId: 'phone' })
  await idle(world())
  // The provider may not know a user who is older than its set-up.
  expect(provider().requests()).toEqual([
    {
      method: 'PATCH',
      path: '/v2/subscribers/ben',
      body: expect.objectContaining({ firstName: 'ben' }),
    },
    { method: 'PUT', path, body: { providerId: 'fcm', credentials: { deviceTokens: ['f1'] } } },
  ])
  await ben.devices.create({ platform: 'android', provider: 'fcm', token: 'f2' })
  await idle(world())
  expect(provider().requests().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'fcm', credentials: { deviceTokens: ['f1', 'f2'] } },
  })
  await ben.devices.create({ platform: 'ios', provider: 'apns', token: 'a1' })
  await idle(world())
  expect(provider().requests().at(-1)).toEqual({
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
  expect(provider().requests().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'expo', credentials: { deviceTokens: ['ExponentPushToken[r1]'] } },
  })
  await ben.devices.delete({ deviceId: 'phone' })
  await idle(world())
  expect(provider().requests().at(-1)).toEqual({
    method: 'PUT',
    path,
    body: { providerId: 'fcm', credentials: { deviceTokens: ['f2'] } },
  })
  await ben.devices.delete({ deviceId: 'tablet' })
  await idle(world())
  expect(provider().requests().at(-1)).toEqual({ method: 'DELETE', path: `${path}/expo`, body: {} })
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
  expect(provider().requests()).toContainEqual({
    method: 'DELETE',
    path: '/v1/subscribers/cleo/credentials/apns',
    body: {},
  })
  expect(provider().requests()).toContainEqual({
    method: 'PUT',
    path: '/v1/subscribers/dora/credentials',
    body: { providerId: 'apns', credentials: { deviceTokens: ['shared'] } },
  })
})

test('a device that gets a token of another kind has none of the old kind', async () => {
  const fay = await world().user('fay')
  const path = '/v1/subscribers/fay/credentials'
  const pad = { platform: 'ios', deviceId: 'pad' } as const
  await fay.devices.create({ ...pad, provider: 'apns', token: 'old' })
  await idle(world())
  provider().forget()
  await fay.devices.create({ ...pad, provider: 'fcm', token: 'new' })
  await idle(world())
  const requests = provider().requests()
  expect(requests).toContainEqual({ method: 'DELETE', path: `${path}/apns`, body: {} })
  expect(requests).toContainEqual({
    method: 'PUT',
    path,
    body: { providerId: 'fcm', credentials: { deviceTokens: ['new'] } },
  })
})
