import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { triggersOf } from './support/novu.ts'
import { serveProvider } from './support/provider.ts'
import { slowness } from './support/slowness.ts'
import { until } from './support/until.ts'
import { createWorld, type User, type World } from './support/world.ts'

let provider: Awaited<ReturnType<typeof serveProvider>>
let world: World
let ana: User
let ben: User
let channelId: string
const errors: string[] = []
const log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (_: object, message: string) => void errors.push(message),
}
beforeAll(async () => {
  provider = await serveProvider()
  world = await createWorld({ jobs: { push: provider.settings, log } })
  ;[ana, ben] = await world.users('ana', 'ben')
  const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  channelId = channel.id
})
afterAll(async () => {
  await world.stop()
  await provider.stop()
})
beforeEach(async () => {
  provider.behave()
  await idle(world)
  provider.forget()
  errors.length = 0
})

const send = (text: string) => ana.messages.send({ channelId, text })
/** The milliseconds between the calls to the provider. */
const pauses = () =>
  provider.calls.slice(1).map(({ at }, index) => at - (provider.calls[index]?.at ?? 0))

test('a provider that answers 500 is retried after growing pauses', async () => {
  provider.behave((...call) => {
    if (provider.calls.length === 2) provider.behave()
    provider.answer(500)(...call)
  })
  await send('trouble')
  await idle(world)
  const [first = 0, second = 0] = pauses()
  expect(first).toBeGreaterThanOrEqual(240)
  expect(second).toBeGreaterThanOrEqual(490)
  expect(new Set(provider.triggered().map(({ transactionId }) => transactionId)).size).toBe(1)
  expect(provider.calls).toHaveLength(3)
})

test('a provider that answers 429 is retried after the pause it asks for', async () => {
  provider.behave((response) => {
    response.writeHead(429, { 'retry-after': '1' }).end()
    provider.behave()
  })
  await send('busy')
  await until(() => provider.calls.length >= 2)
  expect(pauses()[0]).toBeGreaterThanOrEqual(990)
})

test('a push that the provider refuses is logged, listed and not retried by itself', async () => {
  const { appId } = world
  const before = new Set((await world.operator.jobs.list({ appId })).jobs.map(({ id }) => id))
  provider.behave(provider.answer(422))
  const { id } = await send('refused')
  await idle(world)
  expect(provider.calls).toHaveLength(1)
  expect(errors).toEqual(['push refused'])
  const listed = await world.operator.jobs.list({ appId })
  const jobs = listed.jobs.filter(({ id }) => !before.has(id))
  expect(jobs).toMatchObject([
    { task: 'push-message', size: 1, reason: expect.stringContaining('answered 422') },
  ])
  provider.behave()
  for (const { id: jobId } of jobs) await world.operator.jobs.retry({ appId, jobId })
  await idle(world)
  expect(provider.triggered().at(-1)).toMatchObject({ to: 'ben', payload: { messageId: id } })
})

test('pushes made while the key of the provider is wrong are sent once it is right', async () => {
  provider.behave((...call) => {
    if (provider.calls.length === 2) provider.behave()
    provider.answer(401)(...call)
  })
  const { id } = await send('with a wrong key')
  await idle(world)
  expect(provider.calls).toHaveLength(3)
  expect(provider.triggered().at(-1)).toMatchObject({ to: 'ben', payload: { messageId: id } })
  expect(errors).toEqual([])
})

test('a push that the provider finds invalid does not stop others of its batch', async () => {
  const fans = await insertUsers(world, 'fan', 20)
  const group = await ana.channels.create({ type: 'group', name: 'Fans', memberIds: fans })
  await idle(world)
  provider.forget()
  const taken = new Set<string>()
  provider.behave((response, call) => {
    const events = triggersOf(call)
    if (events.some(({ to }) => to === 'fan7')) return response.writeHead(400).end()
    for (const { to } of events) taken.add(to)
    provider.accept(response, call)
  })
  await ana.messages.send({ channelId: group.id, text: 'hello all' })
  await idle(world)
  expect(taken).toEqual(new Set(fans.filter((id) => id !== 'fan7')))
  expect(errors).toEqual(['push refused'])
})

test('a hanging provider delays neither sends nor reads of preferences', async () => {
  const hanging: (() => void)[] = []
  provider.behave((...call) => void hanging.push(() => provider.accept(...call)))
  for (let index = 0; index < 10; index++) await send(`waiting ${index}`)
  await until(() => provider.calls.length > 0)
  // A push waits for ten seconds, which is longer than all this may take, and preferences for two.
  const start = performance.now()
  for (let index = 0; index < 10; index++) await send(`not waiting ${index}`)
  expect(performance.now() - start).toBeLessThan(Math.min(4_000 * slowness, 10_000))
  const readAt = performance.now()
  expect((await ben.preferences.get()).providerPreferences).toEqual({ channels: [], workflows: [] })
  expect(performance.now() - readAt).toBeLessThan(Math.min(4_000 * slowness, 10_000))
  provider.behave()
  for (const answer of hanging) answer()
  await idle(world)
  expect(provider.kindsFor('ben')).toHaveLength(20)
})

test('a message to a thousand members takes ten calls to the provider', async () => {
  const fans = await insertUsers(world, 'member', 1000)
  const group = await ana.channels.create({ type: 'group', name: 'Many' })
  await insertMembers(world, group.id, fans)
  await ana.messages.send({ channelId: group.id, text: 'hello all' })
  await until(() => provider.triggered().length === 1000)
  expect(provider.calls.map(({ path }) => path)).toEqual(Array(10).fill('/v1/events/trigger/bulk'))
  expect(new Set(provider.triggered().map(({ to }) => to)).size).toBe(1000)
})

test('preferences include those that the provider keeps', async () => {
  const workflow = {
    enabled: true,
    channels: { push: true },
    overrides: [],
    workflow: { identifier: 'mention', name: 'Mention' },
  }
  provider.behave((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        data: {
          global: { enabled: true, channels: { push: true, email: false } },
          workflows: [workflow],
        },
      }),
    ),
  )
  const { providerPreferences } = await ben.preferences.get()
  expect(provider.calls).toMatchObject([{ method: 'GET', path: '/v2/subscribers/ben/preferences' }])
  expect(providerPreferences).toEqual({
    channels: [
      { channel: 'push', enabled: true },
      { channel: 'email', enabled: false },
    ],
    workflows: [workflow],
  })
  for (const invalid of ['', '[]', '{"data":null}']) {
    provider.behave((response) => response.writeHead(200).end(invalid))
    expect((await ben.preferences.get()).providerPreferences).toEqual({
      channels: [],
      workflows: [],
    })
  }
})

test('without a push provider nothing is staged', async () => {
  const off = await createWorld({ jobs: {} })
  try {
    const dora = await off.user('dora')
    await off.user('emil')
    const channel = await dora.channels.create({
      type: 'group',
      name: 'Quiet',
      memberIds: ['emil'],
    })
    await dora.messages.send({ channelId: channel.id, text: 'hello @emil' })
    await dora.devices.create({ platform: 'ios', provider: 'apns', token: 'token' })
    expect((await dora.preferences.get()).providerPreferences).toEqual({
      channels: [],
      workflows: [],
    })
    const [sequence] = await off.db<{ isCalled: boolean }[]>`
      select is_called from staged_jobs_id_seq`
    expect(sequence?.isCalled).toBe(false)
  } finally {
    await off.stop()
  }
})

test('the tenant prefix and the workflow ids are configurable', async () => {
  const workflows = { ...provider.settings.workflows, 'new-message': 'acme-message' }
  const warnings: string[] = []
  const tenant = await createWorld({
    jobs: {
      push: { ...provider.settings, tenantId: 'acme', workflows },
      log: { ...log, warn: (_: object, message: string) => void warnings.push(message) },
    },
  })
  try {
    expect(warnings).toEqual([
      'PUSH_TENANT_ID puts a colon into subscriber ids: Novu may refuse it',
    ])
    const dora = await tenant.user('dora')
    await tenant.user('emil')
    const channel = await dora.channels.create({ type: 'group', name: 'Talk', memberIds: ['emil'] })
    const { id } = await dora.messages.send({ channelId: channel.id, text: 'hello' })
    await idle(tenant)
    expect(provider.triggered().find(({ name }) => name === 'acme-message')).toMatchObject({
      to: 'acme:emil',
      transactionId: `${id}:emil:acme-message`,
    })
    const saved = provider.calls.filter(({ path }) => path === '/v2/subscribers')
    const subscriberIds = saved.map(({ body }) => body.subscriberId)
    expect(subscriberIds.sort()).toEqual(['acme:dora', 'acme:emil'])
  } finally {
    await tenant.stop()
  }
})

test('pushes staged while the provider is down are sent when it is back', async () => {
  provider.behave((response) => void response.destroy())
  const { id } = await send('while you were out')
  await until(async () => {
    const waiting = await world.db`select from graphile_worker.jobs where run_at > now()`
    return waiting.length > 0
  })
  const taken: string[] = []
  provider.behave((response, call) => {
    taken.push(...triggersOf(call).map(({ transactionId }) => transactionId))
    provider.accept(response, call)
  })
  await idle(world)
  expect(taken).toEqual([`${id}:ben:new-message`])
})
