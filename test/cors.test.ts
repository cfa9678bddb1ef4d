import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { developmentOrigins } from '@parley/server/config/index'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { post } from './support/raw.ts'
import { createWorld, useWorld, type World } from './support/world.ts'

const origin = 'https://app.example.com'
const options = {
  allowedOrigins: [origin, 'https://other.example.com:8443'],
  rateLimits: { tokens: 2, messages: 0, requests: 0 },
}
const world = useWorld(options)
/** No token was requested here yet. */
const unasked = useWorld(options)

const fromSpecification = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-allow-credentials': 'true',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE, PATCH, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization',
  'access-control-max-age': '86400',
  vary: expect.stringMatching(/^Origin\b/),
})

/** One answer of every kind. */
const answers = async ({ url, apiKey }: World, from: Record<string, string>) => {
  const json = { 'Content-Type': 'application/json' }
  const preflight = {
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-anything',
  }
  const tokens = () =>
    post(url, '/tokens', {
      headers: { ...from, ...json, 'X-API-Key': apiKey },
      body: '{"userId":"ana"}',
    })
  return {
    200: [
      await tokens(),
      await tokens(),
      await post(url, '/health', { method: 'GET', headers: from }),
      await post(url, '/trpc/service.live', { method: 'GET', headers: from }),
    ],
    204: [
      await post(url, '/tokens', { method: 'OPTIONS', headers: { ...from, ...preflight } }),
      await post(url, '/api/channels', { method: 'OPTIONS', headers: { ...from, ...preflight } }),
      await post(url, '/nothing', { method: 'OPTIONS', headers: { ...from, ...preflight } }),
    ],
    400: [
      await post(url, '/%', { method: 'GET', headers: from }),
      await post(url, '/health', { headers: { ...from, 'X-A ': 'a' } }),
    ],
    401: [
      await post(url, '/api/channels', { method: 'GET', headers: from }),
      await post(url, '/tokens', { headers: { ...from, ...json }, body: '{' }),
    ],
    404: [
      await post(url, '/nothing', { headers: from }),
      await post(url, '/health', { method: 'OPTIONS', headers: from }),
      await post(url, '/trpc/nothing', { method: 'GET', headers: from }),
    ],
    413: [
      await post(url, '/tokens', { headers: { ...from, ...json, 'Content-Length': '9999999' } }),
    ],
    429: [await tokens()],
  }
}

test('every answer to an allowed origin has all five CORS headers', async () => {
  for (const [status, kinds] of Object.entries(await answers(unasked(), { Origin: origin }))) {
    for (const answer of kinds)
      expect({ ...answer.headers, status: answer.status }).toMatchObject({
        status: Number(status),
        ...fromSpecification(origin),
      })
  }
})

test('a web page may read the headers of rate limits, retries and request ids', async () => {
  const { headers } = await post(world().url, '/health', {
    method: 'GET',
    headers: { Origin: origin },
  })
  expect(headers['access-control-expose-headers']).toBe(
    'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id',
  )
})

test('a preflight has no body, needs no credentials and counts towards no limit', async () => {
  const answer = await post(world().url, '/tokens', {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
  })
  expect(answer).toMatchObject({ status: 204, body: '' })
  expect(answer.headers).not.toHaveProperty('ratelimit-limit')
})

describe('CORS headers go to allowed origins only', () => {
  for (const other of [
    'https://evil.example.com',
    'http://app.example.com',
    `${origin}:443`,
    `${origin}/`,
    `${origin}.evil.com`,
    'https://APP.example.com',
    'null',
    '*',
    'https://other.example.com',
  ]) {
    test(`${other} gets no CORS header`, async () => {
      const [answer] = (await answers(world(), { Origin: other }))[404]
      expect(
        Object.keys(answer?.headers ?? {}).filter((name) => name.startsWith('access-control')),
      ).toEqual([])
      expect(answer?.headers.vary).toBe('Origin')
    })
  }
  test('a request without an origin gets no CORS header', async () => {
    const [answer] = (await answers(world(), {}))[401]
    expect(answer?.headers).not.toHaveProperty('access-control-allow-origin')
    expect(answer?.headers.vary).toBe('Origin')
  })
})

describe('ALLOWED_ORIGINS=*', () => {
  let open: World
  beforeAll(async () => {
    open = await createWorld({ allowedOrigins: ['*'] })
  })
  afterAll(() => open.stop())
  test('with ALLOWED_ORIGINS=* every origin is allowed', async () => {
    for (const any of ['https://evil.example.com', 'null', 'capacitor://localhost']) {
      expect(
        (await post(open.url, '/health', { method: 'GET', headers: { Origin: any } })).headers,
      ).toMatchObject(fromSpecification(any))
    }
  })
})

test('the default origins are the usual development ports on localhost and 127.0.0.1', () => {
  const ports = [3000, 3001, 3002, 4173, 4500, 5173, 5174, 5175, 5500, 5502, 6001, 6007]
  expect([...developmentOrigins].sort()).toEqual(
    ports.flatMap((port) => [`http://localhost:${port}`, `http://127.0.0.1:${port}`]).sort(),
  )
})

for (const page of ['README.md', 'client-sdk/README.md', '.env.example'])
  test(`${page} names the ports of the default origins`, () => {
    const ports = [...new Set(developmentOrigins.map((each) => new URL(each).port))]
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/\s+(# )?/g, ' ')
    const named = `${ports.slice(0, -1).join(', ')} and ${ports.at(-1)}`
    expect([named, text.includes(named)]).toEqual([named, true])
  })
