import { contract, limits, type Operation, streamPaths } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { exchange, expectError } from '../support/raw.ts'
import { useWorld } from '../support/world.ts'
import { useRequests } from './fixture.ts'

const world = useWorld()
const { get, messages, send, sendJson } = useRequests(world)

describe('paths are matched exactly', () => {
  for (const path of [
    '/',
    '//',
    '/api',
    '/api/',
    '/api/channels/',
    '//api/channels',
    '/api//channels',
    '/./api/channels',
    '/api/./channels',
    '/x/../api/channels',
    '/API/channels',
    '/api/Channels',
    '/api%2Fchannels',
    '/health/',
    '/health/live/x',
    '/health%00',
    '/admin',
    '/tokens/',
    '*',
    '/wp-login.php',
    '/api/channels;x=1',
    '/🍕',
  ].map(encodeURI)) {
    test(path, async () => expectError(await get(path), 'NOT_FOUND'))
  }
  for (const path of [
    '/%',
    '/%zz',
    '/api/channels/%',
    '/api/channels/%E0%A4%A',
    '/%ff',
    '/trpc/%',
  ]) {
    test(`the badly encoded path ${path} is a VALIDATION_ERROR`, async () =>
      expect(expectError(await get(path), 'VALIDATION_ERROR')).toBe(
        'path: expected valid percent-encoding',
      ))
  }
  for (const method of [
    'GET',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'PROPFIND',
    'QUERY',
    'SEARCH',
    'LOCK',
    'M-SEARCH',
  ]) {
    test(`${method} /tokens is not found`, async () =>
      expectError(await send('/tokens', { method }), 'NOT_FOUND'))
    test(`${method} /tokens with an unreadable body is not found`, async () =>
      expectError(
        await send('/tokens', {
          method,
          body: '{',
          headers: { 'Content-Type': 'application/json' },
        }),
        'NOT_FOUND',
      ))
  }
  test('TRACE is a method that no path has', async () => {
    for (const path of ['/tokens', '/health', '/nothing']) {
      const answer = await send(path, { method: 'TRACE' })
      expectError(answer, 'METHOD_NOT_ALLOWED')
      expect(answer).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
      })
    }
  })
  test('HEAD answers like GET, without a body', async () => {
    for (const [path, status] of [
      ['/health', 200],
      ['/api/channels', 401],
      ['/nothing', 404],
    ] as const) {
      const [answer] = await exchange(
        world().url,
        `HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatchObject({ status, body: '' })
      expect(answer?.headers).toHaveProperty('x-request-id')
    }
  })
})

test('a stream of events has no HEAD, which would never end', async () => {
  const connect = encodeURIComponent('{"id":1,"connect":{}}')
  const head = `HEAD ${streamPaths.sse}?cf_connect=${connect} HTTP/1.1\r\nHost: x\r\n`
  const [answer] = await exchange(world().url, `${head}Connection: close\r\n\r\n`)
  expect(answer).toMatchObject({ status: 404, body: '' })
})

test('errors take precedence in the order 401, 429, 400, 404, 403', async () => {
  const nowhere = '/api/channels/019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90/messages'
  const typed = { 'Content-Type': 'application/json' }
  for (const body of ['', '{', '[]', '{"text":1}', '{"text":"hi"}'])
    expectError(await send(nowhere, { headers: typed, body }), 'UNAUTHORIZED')
  expectError(
    await send(nowhere, { headers: { 'Content-Type': 'text/plain' }, body: 'x' }),
    'UNAUTHORIZED',
  )
  expectError(
    await send(nowhere, { headers: { ...typed, Authorization: 'Bearer x' }, body: '{' }),
    'INVALID_TOKEN',
  )
  expectError(await sendJson(nowhere, '{"text":1}'), 'VALIDATION_ERROR')
  expectError(await sendJson(nowhere, '{"text":"hi"}'), 'NOT_FOUND')
  const ben = await world().user('ben')
  const theirs = { ...typed, Authorization: `Bearer ${ben.token}` }
  expectError(await send(messages(), { headers: theirs, body: '{"text":1}' }), 'VALIDATION_ERROR')
  expectError(await send(messages(), { headers: theirs, body: '{"text":"hi"}' }), 'FORBIDDEN')
})

test('a request without credentials is UNAUTHORIZED, whatever else is wrong', async () => {
  const operations = Object.values(contract).flatMap((group) => Object.values<Operation>(group))
  const protectedOperations = operations.filter(({ auth }) => auth !== 'none')
  expect(protectedOperations.length).toBeGreaterThan(40)
  for (const { method, path } of protectedOperations) {
    const answer = await send(path.replace(/\{\w+\}/g, '%00'), {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: '{',
    })
    expectError(answer, 'UNAUTHORIZED')
  }
})

test('a well-formed request id is returned, and any other is replaced', async () => {
  const requestId = async (given: string) =>
    (await send('/health/live', { method: 'GET', headers: { 'X-Request-Id': given } })).headers[
      'x-request-id'
    ]
  expect(await requestId('abc-1.2_3')).toBe('abc-1.2_3')
  for (const given of ['', 'a b', '"', 'a'.repeat(101), '<script>', 'ü'])
    expect(await requestId(given)).toMatch(/^[0-9a-f-]{36}$/)
})

test('an internal error reveals no details', async () => {
  await world().db`alter table channels rename column name to renamed`
  try {
    const answer = await get('/api/channels')
    expect(expectError(answer, 'INTERNAL_ERROR')).toBe('Something went wrong')
  } finally {
    await world().db`alter table channels rename column renamed to name`
  }
  expect((await get('/api/channels')).status).toBe(200)
})

test('the server is healthy after malformed requests', async () => {
  expect(JSON.parse((await get('/health')).body)).toEqual({
    status: 'ok',
    version: limits.apiVersion,
    checks: { database: 'ok' },
  })
})

test('a tRPC call whose request line is a URL, even with a password, is answered', async () => {
  for (const host of ['http://chat', 'http://user:password@chat']) {
    const line = `GET ${host}/trpc/service.health HTTP/1.1\r\n`
    const rest = 'Host: chat\r\nConnection: close\r\n\r\n'
    const [answer] = await exchange(world().url, line + rest)
    expect(answer?.status, host).toBe(200)
  }
})
