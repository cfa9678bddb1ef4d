import { createApi } from '@parley/client/api'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stopClock } from './support/clock.ts'
import { openProxy } from './support/proxy.ts'
import { badToken, invalid, notFound, refusal, unauthorized } from './support/refusal.ts'
import { until } from './support/until.ts'
import { ADMIN_KEY, createWorld, useSharedWorld, type World } from './support/world.ts'

const world = useSharedWorld()

test('a backend creates both tokens for a user, with what a front end needs', async () => {
  const { backend, appId, api } = world()
  const minted = await backend.tokens.create({
    userId: 'ivy',
    name: 'Ivy',
    email: 'ivy@example.com',
    image: 'https://example.com/ivy.png',
  })
  expect(minted).toMatchObject({
    user: {
      id: 'ivy',
      name: 'Ivy',
      email: 'ivy@example.com',
      image: 'https://example.com/ivy.png',
    },
    expiresIn: 86_400,
    appId,
    wsUrl: 'ws://test/connection/websocket',
  })
  expect(await api({ token: minted.token }).channels.list()).toEqual({
    channels: [],
    settingsVersion: 0,
  })
})

test('both tokens are valid for a day', async () => {
  const { token, wsToken, expiresIn } = await world().backend.tokens.create({ userId: 'day' })
  for (const payload of [token, wsToken].map((jwt) => jwt.split('.')[1] ?? '')) {
    const { iat, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    expect(exp - iat).toBe(expiresIn)
  }
})

test('creating tokens answers 200, with unset fields null or omitted', async () => {
  const response = await fetch(`${world().url}/tokens`, {
    method: 'POST',
    headers: { 'x-api-key': world().apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ userId: 'bare' }),
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ user: { id: 'bare', name: 'bare', image: null } })
  expect((await world().backend.tokens.create({ userId: 'bare' })).user).not.toHaveProperty('email')
})

test('an absent profile field is kept, and null clears it', async () => {
  const { backend } = world()
  const create = async (profile: object) =>
    (await backend.tokens.create({ userId: 'cem', ...profile })).user
  const customOf = async () => (await backend.users.get({ userId: 'cem' })).custom
  await create({
    name: 'Cem',
    email: 'cem@example.com',
    image: 'https://example.com/cem.png',
    custom: { plan: 'pro', old: true },
  })
  expect(await create({})).toEqual({
    id: 'cem',
    name: 'Cem',
    email: 'cem@example.com',
    image: 'https://example.com/cem.png',
  })
  expect(await customOf()).toEqual({ plan: 'pro', old: true })
  await create({ custom: { plan: 'free' } })
  expect(await customOf()).toEqual({ plan: 'free' })
  expect(await create({ name: null, email: null, image: null, custom: null })).toEqual({
    id: 'cem',
    name: 'cem',
    image: null,
  })
  expect(await customOf()).toEqual({})
})

test('twenty concurrent token requests for a new user create one user', async () => {
  const minted = await Promise.all(
    Array.from({ length: 20 }, () =>
      world().backend.tokens.create({ userId: 'fresh', name: 'Fresh' }),
    ),
  )
  expect(new Set(minted.map(({ token }) => token)).size).toBe(20)
  expect(
    await world().db`
      select name
      from users
      where id = 'fresh'`,
  ).toEqual([{ name: 'Fresh' }])
})

test('the API token, the socket token and the API key are not interchangeable', async () => {
  const { api, backend } = world()
  const { token, wsToken } = await backend.tokens.create({ userId: 'ana' })
  expect(await refusal(api({ token: wsToken }).channels.list())).toEqual(badToken)
  expect(await refusal(api({ apiKey: token }).tokens.create({ userId: 'ana' }))).toEqual(
    unauthorized,
  )
  expect(await refusal(api({ token: world().apiKey }).channels.list())).toEqual(badToken)
})

test('only backends create tokens', async () => {
  const { api, backend } = world()
  const { token } = await backend.tokens.create({ userId: 'ana' })
  for (const credentials of [
    {},
    { apiKey: '' },
    { apiKey: 'pk_wrong' },
    { token },
    { adminKey: ADMIN_KEY },
  ]) {
    expect(await refusal(api(credentials).tokens.create({ userId: 'ana' }))).toEqual(unauthorized)
  }
})

test('a token is valid in its own app only', async () => {
  const { api, backend } = world()
  const { apiKey } = await api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Other' })
  const ours = api({ token: (await backend.tokens.create({ userId: 'ana', name: 'Ours' })).token })
  const theirs = api({
    token: (await api({ apiKey }).tokens.create({ userId: 'ana', name: 'Theirs' })).token,
  })
  await ours.channels.create({ type: 'group', name: 'Ours' })
  expect((await theirs.channels.list()).channels).toEqual([])
  expect((await backend.tokens.create({ userId: 'ana' })).user.name).toBe('Ours')
})

test.each([
  ['userId', undefined],
  ['userId', ''],
  ['userId', 'a b'],
  ['userId', 'a/b'],
  ['userId', '..'],
  ['userId', 'parley.system'],
  ['userId', 'é'],
  ['userId', 'x'.repeat(256)],
  ['userId', 7],
  ['name', ''],
  ['name', 'x'.repeat(256)],
  ['name', 'nul\u0000'],
  ['email', 'nobody'],
  ['image', 'ana.png'],
  ['image', 'javascript:alert(1)'],
  ['custom', []],
  ['custom', 'text'],
  ['custom', { big: 'x'.repeat(17_000) }],
  ['custom', JSON.parse(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`)],
  ['custom', { nul: '\u0000' }],
  ['admin', 'yes'],
] as const)('the token field %s with %j is refused by its name', async (field, value) => {
  const call = createApi({ url: world().url, apiKey: world().apiKey }).tokens.create({
    userId: 'dora',
    [field]: value,
  } as { userId: string })
  const error = await call.catch((error: Error) => error)
  expect(error).toMatchObject({ ...invalid, message: expect.stringContaining(field) })
})

test('every allowed user id works, and ids are case-sensitive', async () => {
  for (const userId of [
    '0',
    'x'.repeat(255),
    'auth0|5f7c8ec7c33c6c004bbafe82',
    'a:b',
    'ana@example.com',
    "o'neill",
    '"><script>',
    '%2e',
    'Ana',
  ]) {
    const user = await world().user(userId)
    expect(await user.channels.create({ type: 'group', name: 'Mine' })).toMatchObject({
      createdBy: userId,
      members: [{ userId }],
    })
  }
})

test('a revoked token is refused at once, and a new one works', async () => {
  const { backend, stranger, user } = world()
  const rae = await user('rae')
  await rae.channels.list()
  expect(await backend.tokens.revoke({ userId: 'rae' })).toEqual({ success: true })
  expect(await refusal(rae.channels.list())).toEqual(badToken)
  expect((await (await user('rae')).channels.list()).channels).toEqual([])
  expect(await refusal(backend.tokens.revoke({ userId: 'nobody' }))).toEqual(notFound)
  expect(await refusal((await stranger()).tokens.revoke({ userId: 'rae' }))).toEqual(notFound)
  expect(await refusal(rae.tokens.revoke({ userId: 'rae' }))).toEqual(unauthorized)
})

describe('a token revoked on another node', () => {
  const there = (node: World, token: string) =>
    node
      .api({ token })
      .channels.list()
      .then(
        () => 'accepted',
        (error) => error.code,
      )

  test('is refused once the node learns of it, and a new one is accepted at once', async () => {
    const node = await createWorld({ databaseUrl: world().databaseUrl })
    onTestFinished(() => node.stop())
    const old = await world().user('roam')
    expect(await there(node, old.token)).toBe('accepted')
    // The cache will not give the token up by itself.
    stopClock()
    await world().backend.tokens.revoke({ userId: 'roam' })
    await until(async () => (await there(node, old.token)) === 'INVALID_TOKEN')
    expect(await there(node, (await world().user('roam')).token)).toBe('accepted')
  })

  test('is accepted for 5 s at most by a node that missed the revocation', async () => {
    const proxy = await openProxy(world().databaseUrl)
    const node = await createWorld({
      databaseUrl: world().databaseUrl,
      brokerUrl: proxy.databaseUrl,
    })
    onTestFinished(async () => {
      await node.stop()
      proxy.close()
    })
    proxy.silence()
    const old = await world().user('stray')
    expect(await there(node, old.token)).toBe('accepted')
    await world().backend.tokens.revoke({ userId: 'stray' })
    stopClock().putForward(5_001)
    expect(await there(node, old.token)).toBe('INVALID_TOKEN')
  })
})
