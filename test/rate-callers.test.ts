import { expect, onTestFinished, test } from 'vitest'
import { expectError, post } from './support/raw.ts'
import { createWorld, type World } from './support/world.ts'

const none = { tokens: 0, messages: 0, requests: 0 }

/** A world with rate limits, for one test. */
async function limited(options: Parameters<typeof createWorld>[0]) {
  const world = await createWorld(options)
  onTestFinished(world.stop)
  return world
}
const bearer = ({ token }: { token: string }) => ({ Authorization: `Bearer ${token}` })
const key = (apiKey: string) => ({ 'X-API-Key': apiKey })
const call = ({ url }: World, path: string, headers: Record<string, string>) =>
  post(url, path, { method: 'GET', headers })
const channels = (world: World, user: { token: string }) =>
  call(world, '/api/channels', bearer(user))
const users = (world: World, apiKey: string) => call(world, '/api/users/ana', key(apiKey))
const secondKey = async (world: World) => {
  const { apiKey } = await world.operator.apps.createKey({ appId: world.appId })
  return apiKey
}

test("one user's loop locks out no other user and no backend, and keys count apart", async () => {
  const world = await limited({ rateLimits: { ...none, requests: 3 } })
  const [ana, ben] = await world.users('ana', 'ben')
  for (const remaining of ['2', '1', '0'])
    expect(await channels(world, ana)).toMatchObject({
      status: 200,
      headers: { 'ratelimit-limit': '3', 'ratelimit-remaining': remaining },
    })
  expectError(await channels(world, ana), 'RATE_LIMITED')
  const again = { ...ana, ...(await world.backend.tokens.create({ userId: 'ana' })) }
  expectError(await channels(world, again), 'RATE_LIMITED')
  // Refused before its path, its body and its rights are looked at, but not before its token.
  expectError(await call(world, '/api/channels/x', bearer(ana)), 'RATE_LIMITED')
  const headers = { ...bearer(ana), 'Content-Type': 'application/json' }
  expectError(await post(world.url, '/api/channels', { headers, body: '{' }), 'RATE_LIMITED')
  expectError(await channels(world, { token: 'x' }), 'INVALID_TOKEN')
  expect((await channels(world, ben)).headers).toMatchObject({ 'ratelimit-remaining': '2' })
  for (const remaining of ['2', '1', '0'])
    expect((await users(world, world.apiKey)).headers['ratelimit-remaining']).toBe(remaining)
  expectError(await users(world, world.apiKey), 'RATE_LIMITED')
  expect((await users(world, await secondKey(world))).headers).toMatchObject({
    'ratelimit-remaining': '2',
  })
})

test('the limit of an app holds for its users, keys, sends and tokens together', async () => {
  const world = await limited({ rateLimits: { ...none, requests: 10, appRequests: 6 } })
  const [ana, ben] = await world.users('ana', 'ben')
  const { apiKey } = await world.operator.apps.create({ name: 'Other' })
  const eve = await world.user('eve', {}, world.api({ apiKey }))
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  await ben.messages.send({ channelId: id, text: 'hi' })
  expect((await users(world, world.apiKey)).headers).toMatchObject({
    'ratelimit-limit': '6',
    'ratelimit-remaining': '1',
  })
  expect((await channels(world, ben)).headers).toMatchObject({ 'ratelimit-remaining': '0' })
  const refused = await channels(world, ana)
  expect(expectError(refused, 'RATE_LIMITED')).toBe('Too many calls: at most 6 a minute')
  expect(refused.headers).toMatchObject({ 'ratelimit-limit': '6', 'ratelimit-remaining': '0' })
  expectError(await users(world, await secondKey(world)), 'RATE_LIMITED')
  const sending = ben.messages.send({ channelId: id, text: 'late' })
  await expect(sending).rejects.toMatchObject({ status: 429, code: 'RATE_LIMITED' })
  expect((await channels(world, eve)).status).toBe(200)
})

test('an app whose limits the operator turned off has none', async () => {
  const world = await limited({ rateLimits: { ...none, requests: 2, appRequests: 2 } })
  const { appId, operator } = world
  const off = { tokens: 0, messages: 0, requests: 0, appends: 0, appRequests: 0 }
  await operator.apps.update({ appId, settings: { rateLimits: off } })
  const ana = await world.user('ana')
  for (const _ of [1, 2, 3]) {
    const { status, headers } = await channels(world, ana)
    expect([status, headers['ratelimit-limit']]).toEqual([200, undefined])
  }
})

test('an app whose limit the operator raised has more calls than others', async () => {
  const world = await limited({ rateLimits: { ...none, requests: 2 } })
  const { appId, operator } = world
  await operator.apps.update({ appId, settings: { rateLimits: { requests: 4 } } })
  const ana = await world.user('ana')
  for (const remaining of ['3', '2', '1', '0'])
    expect(await channels(world, ana)).toMatchObject({
      status: 200,
      headers: { 'ratelimit-limit': '4', 'ratelimit-remaining': remaining },
    })
  expectError(await channels(world, ana), 'RATE_LIMITED')
})

test('a call that is refused for the app, or is a repeat, uses up no limit', async () => {
  const world = await limited({
    rateLimits: { tokens: 0, messages: 2, requests: 9, appRequests: 5 },
  })
  const [ana, ben] = await world.users('ana', 'ben')
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const path = `/api/channels/${id}/messages`
  const send = (clientId: string) =>
    post(world.url, path, {
      headers: { ...bearer(ana), 'Content-Type': 'application/json' },
      body: JSON.stringify({ text: 'hi', clientId }),
    })
  for (const _ of [1, 2, 3])
    expect(await send('a')).toMatchObject({ status: 201, headers: { 'ratelimit-remaining': '1' } })
  expect((await channels(world, ben)).headers).toMatchObject({ 'ratelimit-remaining': '0' })
  for (const _ of [1, 2]) expectError(await send('b'), 'RATE_LIMITED')
  expect((await send('a')).status).toBe(201)
  expectError(await channels(world, ben), 'RATE_LIMITED')
})
