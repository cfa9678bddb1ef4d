import { describe, expect, test, vi } from 'vitest'
import { inBatches } from './support/batches.ts'
import { asUser, count, limited, mint, none, talk } from './support/limited.ts'
import { expectError, post } from './support/raw.ts'

test('exactly the allowed number of messages a minute pass', async () => {
  const world = await limited({ rateLimits: { ...none, messages: 3 } })
  const { ana, ben, send } = await talk(world)
  for (const remaining of ['2', '1', '0']) {
    const { status, headers } = await send(ana, { text: 'hi' })
    expect({ status, ...headers }).toMatchObject({
      status: 201,
      'ratelimit-limit': '3',
      'ratelimit-remaining': remaining,
      'ratelimit-reset': expect.stringMatching(/^(60|[345]\d)$/),
    })
    expect(headers).not.toHaveProperty('retry-after')
  }
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 20_000)
  const refused = await send(ana, { text: 'hi' })
  clock.mockRestore()
  expect(Number(refused.headers['ratelimit-reset'])).toBeLessThanOrEqual(40)
  expect(expectError(refused, 'RATE_LIMITED')).toBe('Too many calls: at most 3 a minute')
  expect(refused.headers).toMatchObject({
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'retry-after': refused.headers['ratelimit-reset'],
  })
  expect((await send(ben, { text: 'another user has their own' })).status).toBe(201)
  const { apiKey } = await world.operator.apps.create({ name: 'Other' })
  const namesake = await world.user('ana', {}, world.api({ apiKey }))
  const { id } = await namesake.channels.create({ type: 'group', name: 'Talk' })
  const inOtherApp = { method: 'POST', body: '{"text":"so has their namesake"}' }
  expect((await asUser(world, namesake, `/api/channels/${id}/messages`, inOtherApp)).status).toBe(
    201,
  )
  expect((await asUser(world, ana, '/api/channels')).headers).not.toHaveProperty('ratelimit-limit')
})

test('exactly the allowed number of concurrent calls pass', async () => {
  const world = await limited({ rateLimits: { ...none, messages: 10 } })
  const { ana, send } = await talk(world)
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(ana, { text: 'hi' })))
  expect([count(answers, 201), count(answers, 429)]).toEqual([10, 30])
})

test('a refused send counts towards the limit', async () => {
  const world = await limited({ rateLimits: { ...none, messages: 2 } })
  const { ana, send } = await talk(world)
  expectError(await send(ana, { text: '' }), 'VALIDATION_ERROR')
  expectError(
    await send(ana, { text: 'hi', parentId: '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90' }),
    'NOT_FOUND',
  )
  expectError(await send(ana, { text: 'hi' }), 'RATE_LIMITED')
  expectError(await send(ana, { text: 1 }), 'RATE_LIMITED')
})

test('a batch counts its messages but no repeats, and refuses those over the limit', async () => {
  const world = await limited({ rateLimits: { ...none, messages: 5 } })
  const { ana, id } = await talk(world)
  const sendBatch = async (first: number, last: number) => {
    const keys = Array.from({ length: last - first + 1 }, (_, index) => `${first + index}`)
    const messages = keys.map((key) => ({ text: key, clientId: key }))
    const body = JSON.stringify({ messages })
    return asUser(world, ana, `/api/channels/${id}/messages/batch`, { method: 'POST', body })
  }
  const outcomes = (body: string) =>
    (JSON.parse(body).results as { error?: { code: string; retryAfterSeconds: number } }[]).map(
      ({ error }) => (error && error.retryAfterSeconds > 0 ? error.code : 'sent'),
    )
  const first = await sendBatch(1, 3)
  expect(first.headers['ratelimit-remaining']).toBe('2')
  const repeated = await sendBatch(1, 2)
  expect(repeated.headers['ratelimit-remaining']).toBe('2')
  expect(outcomes((await sendBatch(4, 7)).body)).toEqual([
    ...['sent', 'sent'],
    ...['RATE_LIMITED', 'RATE_LIMITED'],
  ])
  expectError(await sendBatch(8, 9), 'RATE_LIMITED')
})

describe('repeated sends', () => {
  test('a repeated send does not count, and is answered even over the limit', async () => {
    const world = await limited({ rateLimits: { ...none, messages: 2 } })
    const { ana, ben, path, send } = await talk(world)
    const original = await send(ana, { text: 'hi', clientId: 'a' })
    for (const _ of [1, 2, 3]) {
      const repeat = await send(ana, { text: 'hi', clientId: 'a' })
      expect(repeat).toMatchObject({ status: 201, headers: { 'ratelimit-remaining': '1' } })
      expect(JSON.parse(repeat.body).id).toBe(JSON.parse(original.body).id)
    }
    expect((await send(ana, { text: 'again', clientId: 'b' })).status).toBe(201)
    expectError(await send(ana, { text: 'hi', clientId: 'c' }), 'RATE_LIMITED')
    const late = await send(ana, { text: 'hi', clientId: 'a' })
    expect([late.status, JSON.parse(late.body)]).toEqual([201, JSON.parse(original.body)])
    expect((await send(ben, { text: 'mine', clientId: 'a' })).status).toBe(201)
    expect(JSON.parse((await asUser(world, ana, path)).body).messages).toHaveLength(3)
  })
  test('concurrent repeated sends do not use up the limit', async () => {
    const world = await limited({ rateLimits: { ...none, messages: 3 } })
    const { ana, send } = await talk(world)
    await send(ana, { text: 'hi', clientId: 'a' })
    const repeats = await Promise.all(
      Array.from({ length: 20 }, () => send(ana, { text: 'hi', clientId: 'a' })),
    )
    expect(count(repeats, 201)).toBe(20)
    const others = await Promise.all(Array.from({ length: 10 }, () => send(ana, { text: 'hi' })))
    expect(count(others, 201)).toBe(2)
  })
  test('sends over the limit are looked up about once a second', async () => {
    const statements: string[] = []
    const onStatement = (statement: string) => void statements.push(statement)
    const world = await limited({ rateLimits: { ...none, messages: 1 }, onStatement })
    const { ana, ben, send } = await talk(world)
    for (const user of [ana, ben]) await send(user, { text: 'hi', clientId: 'a' })
    statements.length = 0
    const startedAt = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => send(ana, { text: 'hi', clientId: `${index}` })),
    )
    expect(count(answers, 429)).toBe(100)
    const lookups = statements.filter((statement) => statement.includes('msg.client_id ='))
    const windows = 1 + Math.floor((performance.now() - startedAt) / 20_000)
    expect(lookups.length).toBeLessThanOrEqual(20 * windows)
    expect((await send(ben, { text: 'hi', clientId: 'a' })).status).toBe(201)
  })
  test('a repeated send by a removed author is FORBIDDEN even over the limit', async () => {
    const world = await limited({ rateLimits: { ...none, messages: 1 } })
    const { ana, ben, id, send } = await talk(world)
    await send(ben, { text: 'hi', clientId: 'a' })
    await ana.members.remove({ channelId: id, userId: 'ben' })
    expectError(await send(ben, { text: 'hi', clientId: 'a' }), 'FORBIDDEN')
  })
  test('a key repeats no send outside its scopes, even over the limit', async () => {
    const world = await limited({ rateLimits: { ...none, requests: 5 } })
    const { ana, path, send } = await talk(world)
    const message = { text: 'hi', clientId: 'a' }
    expect((await send(ana, message)).status).toBe(201)
    const { operator, appId, url } = world
    const { apiKey } = await operator.apps.createKey({ appId, scopes: ['read'] })
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json' }
    for (const _ of [1, 2, 3, 4, 5])
      expect((await post(url, '/api/users', { method: 'GET', headers })).status).toBe(200)
    const body = JSON.stringify(message)
    const acting = { ...headers, 'X-User-Id': 'ana' }
    expectError(await post(url, path, { headers: acting, body }), 'FORBIDDEN')
  })
})

test('health, unknown routes and preflights are not counted', async () => {
  const world = await limited({ rateLimits: { tokens: 1, messages: 1, requests: 2 } })
  for (const path of ['/health', '/health/live', '/nothing']) {
    for (const _ of [1, 2, 3])
      expect((await post(world.url, path, { method: 'GET' })).headers).not.toHaveProperty(
        'ratelimit-limit',
      )
  }
  const preflight = { Origin: 'https://a.example.com', 'Access-Control-Request-Method': 'POST' }
  for (const _ of [1, 2, 3])
    expect(
      (await post(world.url, '/tokens', { method: 'OPTIONS', headers: preflight })).status,
    ).toBe(204)
  expect((await mint(world)).status).toBe(200)
})

test('each call of a tRPC batch is counted', async () => {
  const world = await limited({ rateLimits: { ...none, requests: 3 } })
  const ana = await world.user('ana')
  const answer = await asUser(
    world,
    ana,
    `/trpc/${Array.from({ length: 5 }, () => 'channels.list').join()}?batch=1`,
  )
  const results: object[] = JSON.parse(answer.body)
  expect(results.filter((result) => 'result' in result)).toHaveLength(3)
  expect(results.filter((result) => 'error' in result)).toMatchObject(
    Array.from({ length: 2 }, () => ({
      error: { data: { code: 'RATE_LIMITED', httpStatus: 429, path: 'channels.list' } },
    })),
  )
  expect(answer.headers).toMatchObject({
    'ratelimit-remaining': '0',
    'retry-after': expect.stringMatching(/^\d+$/),
  })
  expectError(await asUser(world, ana, '/api/channels'), 'RATE_LIMITED')
})

test('appends count apart from other calls, and for each bot that a backend acts as', async () => {
  const rateLimits = { tokens: 0, messages: 0, requests: 20, appends: 2 }
  const world = await limited({ rateLimits })
  const { id } = await talk(world)
  await world.backend.members.add({ channelId: id, userIds: ['ana', 'ben'] })
  const begin = async (userId: string) => {
    const bot = world.api({ apiKey: world.apiKey, userId })
    const begun = await bot.messages.send({ channelId: id, text: '', streaming: true })
    return (at: number) => bot.streams.append({ channelId: id, messageId: begun.id, at, text: 'x' })
  }
  const appends = await Promise.all(['ana', 'ben'].map(begin))
  for (const append of appends) {
    expect(await append(0)).toEqual({ length: 1 })
    expect(await append(1)).toEqual({ length: 2 })
    await expect(append(2)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  }
})

test('a limit of 0 is no limit', async () => {
  const world = await limited({ rateLimits: none })
  const { ana, send } = await talk(world)
  const messages = Array.from({ length: 100 }, () => ({ text: 'hi' }))
  const answers = await inBatches(messages, 20, (message) => send(ana, message))
  expect(count(answers, 201)).toBe(100)
  expect(
    answers
      .flatMap(({ headers }) => Object.keys(headers))
      .filter((name) => name.startsWith('ratelimit')),
  ).toEqual([])
})
