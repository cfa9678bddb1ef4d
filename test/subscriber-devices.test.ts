import type { ServerResponse } from 'node:http'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { whileRowLocked } from './support/locks.ts'
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
  const tablet = { platform: 'ios', deviceId: 'tablet' } as const
  await ivy.devices.create({ ...tablet, provider: 'apns', token: 'i1' })
  await idle(world())
  onTestFinished(() => provider().behave())
  const held: ServerResponse[] = []
  provider().behave((response) => void held.push(response))
  // A job for each kind of token, which are queued together.
  await ivy.devices.create({ ...tablet, provider: 'fcm', token: 'i2' })
  const jobs = await until(async () => {
    const jobs = await world().db<{ queueName: string | null; isTaken: boolean }[]>`
      select job.queue_name, job.locked_at is not null as is_taken
      from graphile_worker.jobs job
      where job.task_identifier = 'device'`
    return jobs.some(({ isTaken }) => isTaken) && jobs
  })
  const [{ queueName } = { queueName: null }] = jobs
  expect(queueName).toMatch(/^subscribers-\d$/)
  expect(jobs.toSorted((a, b) => Number(a.isTaken) - Number(b.isTaken))).toEqual([
    { queueName, isTaken: false },
    { queueName, isTaken: true },
  ])
  provider().behave()
  for (const response of held) response.writeHead(200).end('{}')
  await idle(world())
})

test('users whose removal takes long hold up no pushes', async () => {
  const [jan, kay] = await world().users('jan', 'kay')
  const { id: channelId } = await jan.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['kay'] },
  })
  const leaving = Array.from({ length: 12 }, (_, index) => `leaving-${index}`)
  await world().users(...leaving)
  await idle(world())
  provider().forget()
  onTestFinished(() => provider().behave())
  const held: ServerResponse[] = []
  provider().behave((response, call) => {
    if (call.method === 'DELETE') held.push(response)
    else provider().accept(response, call)
  })
  await world().backend.users.bulkDelete({ userIds: leaving })
  await until(() => held.length > 0)
  const [first] = held
  await jan.messages.send({ channelId, text: 'hello' })
  await until(() => provider().kindsFor(kay.id).length > 0)
  // It was not given up before.
  expect(first?.destroyed).toBe(false)
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

test('a token that two users register at once stays with the last of them', async () => {
  const [gil, hana] = await world().users('gil', 'hana')
  const token = { platform: 'ios', provider: 'apns', token: 'contested' } as const
  await hana.devices.create({ ...token, token: 'older', deviceId: 'pad' })
  await idle(world())
  provider().forget()
  const calls = await whileRowLocked(
    world(),
    // Gil's registration is stored, but cannot be committed.
    (sql) => sql`lock table staged_jobs in exclusive mode`,
    async () => {
      const first = gil.devices.create(token)
      await waitingFor({ events: ['relation'], query: '%insert into staged_jobs%' })
      const second = hana.devices.create({ ...token, deviceId: 'pad' })
      await waitingFor({ events: ['advisory', 'transactionid'] })
      return [first, second]
    },
  )
  await Promise.all(calls)
  await idle(world())
  const last = (path: string) =>
    provider()
      .requests()
      .findLast((request) => request.path.startsWith(path))
  expect(last('/v1/subscribers/gil/credentials')?.method).toBe('DELETE')
  expect(last('/v1/subscribers/hana/credentials')?.body).toEqual({
    providerId: 'apns',
    credentials: { deviceTokens: ['contested'] },
  })
})
/** Resolves once a statement waits for one of these kinds of locks. */
const waitingFor = ({ events, query = '%' }: { events: string[]; query?: string }) =>
  until(async () => {
    const waiting = await world().db`
      select
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'
        and wait_event = any(${events})
        and query like ${query}`
    return waiting.length > 0
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
