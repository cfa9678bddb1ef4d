import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { endpointPath } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { createFastify } from '@parley/server/http/fastify'
import { servePlayground } from '@parley/server/http/playground'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectError, post } from './support/raw.ts'
import { production, start, useChildren } from './support/start.ts'
import { TWIN_APP_ID } from './support/twin/index.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const inProduction = useWorld()
const children = useChildren()
const directory = mkdtempSync(join(tmpdir(), 'parley-playground-'))
let server: ReturnType<typeof start> | undefined
let url: string
let demoKey: string
beforeAll(async () => {
  server = start(
    {
      DATABASE_URL: world().databaseUrl,
      HOST: '127.0.0.1',
      ADMIN_API_KEY: production.ADMIN_API_KEY,
      DATA_DIR: directory,
      DEMO_APP: 'yes',
      LOG_LEVEL: 'trace',
    },
    directory,
  )
  url = await server.url()
  demoKey = await server.value('Demo API key')
})
// Also if it did not get as far as printing its address.
afterAll(async () => {
  server?.kill('SIGTERM')
  await server?.code
  rmSync(directory, { recursive: true })
})

const json = { 'Content-Type': 'application/json' }
const ownHeaders = () => ({
  ...json,
  Host: new URL(url).host,
  Origin: url,
  'Sec-Fetch-Site': 'same-origin',
})
const requestToken = (userId: unknown, headers: Record<string, string> = ownHeaders()) =>
  post(url, '/playground/token', { headers, body: JSON.stringify({ userId }) })

test('a key that was given is not printed', async () => {
  await server?.value('Demo API key')
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const { apps } = await operator.apps.list()
  expect(apps.filter(({ id }) => id !== TWIN_APP_ID)).toHaveLength(2)
  expect(server?.output()).not.toContain(production.ADMIN_API_KEY)
  expect(server?.output()).not.toContain('Admin key')
})

test('npm start prints the playground address, and / and /playground redirect to it', async () => {
  expect(await server?.value('Playground')).toBe(`${url}/playground`)
  for (const path of ['/', '/playground']) {
    const redirected = await fetch(`${url}${path}?user=ana`)
    expect([redirected.status, redirected.url]).toEqual([200, `${url}/playground/?user=ana`])
    const { headers } = await post(url, path, { method: 'GET' })
    expect(headers.location).toBe('playground/')
  }
})

test('the page loads everything from this server and may connect to no other', async () => {
  const page = await fetch(`${url}/playground/`)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: https:",
    `connect-src 'self' ${url.replace('http', 'ws')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  expect(page.headers.get('content-security-policy')).toBe(policy.join('; '))
  expect(page.headers.get('cache-control')).toBe('no-cache')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  const html = await page.text()
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)]
    .map(([, address = '']) => address)
    .filter((address) => !address.startsWith('data:'))
  expect(addresses.length).toBeGreaterThan(1)
  let scripts = ''
  for (const address of addresses) {
    expect(address).toMatch(/^\.\/assets\/[\w-]+\.(js|css)$/)
    const asset = await fetch(new URL(address, `${url}/playground/`))
    expect([asset.status, asset.headers.get('x-content-type-options')]).toEqual([200, 'nosniff'])
    expect(asset.headers.get('content-type')).toBe(
      address.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8',
    )
    expect(asset.headers.get('cache-control')).toContain('immutable')
    const text = await asset.text()
    expect(text).not.toMatch(/(?:url\(|@import |import\()["']?(?:https?:)?\/\//)
    if (address.endsWith('.js')) scripts += text
  }
  // The page is built without the contract: it has the path in its own words.
  expect(scripts).toContain(endpointPath)
  for (const path of ['assets/missing.js', 'assets/..%2Findex.html', 'missing', 'assets/__proto__'])
    expectError(await post(url, `/playground/${path}`, { method: 'GET' }), 'NOT_FOUND')
})

test('the page gets tokens of demo users, and no token is logged', async () => {
  const { status, headers, body } = await requestToken('ana')
  expect(status).toBe(200)
  expect(headers['cache-control']).toBe('no-store')
  expect(headers['access-control-allow-origin']).toBeUndefined()
  const { token, wsToken, user, appId } = JSON.parse(body)
  expect(user).toEqual({ id: 'ana', name: 'Ana Sousa', image: null })
  const demoApp = createApi({ url, apiKey: demoKey })
  expect(appId).toBe((await demoApp.tokens.create({ userId: 'zoe' })).appId)
  expect((await createApi({ url, token }).channels.list()).channels).toEqual([])
  for (const secret of [token, wsToken]) expect(server?.output()).not.toContain(secret)
})

test.each([['zoe'], ['Ana'], ['__proto__'], [''], [null], [['ana']], [undefined]])(
  'a token for %j is refused',
  async (userId) => {
    expectError(await requestToken(userId), 'VALIDATION_ERROR')
  },
)

test('an invalid body of a token request is refused', async () => {
  expectError(
    await post(url, '/playground/token', { headers: ownHeaders(), body: '{"userId":' }),
    'VALIDATION_ERROR',
  )
  expectError(await post(url, '/playground/token', { headers: ownHeaders() }), 'VALIDATION_ERROR')
})

test.each([
  ['another site', { Origin: 'https://evil.example' }],
  ['a development server that may call the API', { Origin: 'http://localhost:3000' }],
  ['another port', { Origin: 'http://127.0.0.1:1' }],
  ['a sandboxed page', { Origin: 'null' }],
  ['a page that its browser calls cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a page of a sibling domain', { 'Sec-Fetch-Site': 'same-site' }],
  [
    'a foreign name that resolves to this server',
    { Host: 'evil.example', Origin: 'http://evil.example' },
  ],
])('a token is refused to %s', async (_, headers) => {
  expectError(await requestToken('ana', { ...ownHeaders(), ...headers }), 'FORBIDDEN')
})

test('a token is refused to other machines, behind a trusted proxy too', async () => {
  const publicUrl = () => 'http://192.0.2.7:5501'
  const trustProxy = '127.0.0.1, 192.0.2.7'
  const app = createFastify({
    allowedOrigins: [],
    trustProxy,
    logLevel: 'silent',
    logSample: 1,
    nodeId: 'node',
    isStopping: () => false,
    metrics: createMetrics(),
  })
  servePlayground(app, {
    mintToken: async () => ({}),
    demoApiKey: 'key',
    publicUrl,
    wsUrl: publicUrl,
  })
  const statusFor = async (remoteAddress: string, forwarded?: string) => {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/playground/token',
      remoteAddress,
      headers: {
        host: '192.0.2.7:5501',
        'content-type': 'application/json',
        ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
      },
      payload: { userId: 'ana' },
    })
    return statusCode
  }
  for (const here of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
    expect(await statusFor(here), here).toBe(200)
  for (const there of ['192.0.2.7', '10.0.0.1', '::ffff:192.0.2.7', 'fe80::1', '::'])
    expect(await statusFor(there), there).toBe(403)
  expect(await statusFor('192.0.2.7', '127.0.0.1')).toBe(403)
  expect(await statusFor('127.0.0.1', '192.0.2.7')).toBe(403)
})

test('the playground is not part of the documented API', async () => {
  expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('playground')
})

test('the playground does not exist in production', async () => {
  const node = children.start({ ...production, DATABASE_URL: inProduction().databaseUrl }, tmpdir())
  const address = await node.url()
  for (const path of ['/playground', '/playground/', '/playground/assets/index.js'])
    expectError(await post(address, path, { method: 'GET' }), 'NOT_FOUND')
  expectError(
    await post(address, '/playground/token', { headers: json, body: '{"userId":"ana"}' }),
    'NOT_FOUND',
  )
  expect(node.output()).not.toContain('Playground')
})
