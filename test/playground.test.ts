import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '@parley/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectError, post } from './support/raw.ts'
import { production, start, useChildren } from './support/start.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const inProduction = useWorld()
const children = useChildren()
const directory = mkdtempSync(join(tmpdir(), 'parley-playground-'))
let server: ReturnType<typeof start>
let url: string
let demoKey: string
beforeAll(async () => {
  server = start(
    {
      DATABASE_URL: world().databaseUrl,
      HOST: '127.0.0.1',
      DATA_DIR: directory,
      LOG_LEVEL: 'trace',
    },
    directory,
  )
  url = await server.url()
  demoKey = await server.value('Demo API key')
})
// Also when it did not get as far as to tell where it is.
afterAll(async () => {
  server?.kill('SIGTERM')
  await server?.code
  rmSync(directory, { recursive: true })
})

const json = { 'Content-Type': 'application/json' }
const own = () => ({
  ...json,
  Host: new URL(url).host,
  Origin: url,
  'Sec-Fetch-Site': 'same-origin',
})
const ask = (userId: unknown, headers: Record<string, string> = own()) =>
  post(url, '/playground/token', { headers, body: JSON.stringify({ userId }) })

test('npm start says where it is, and its address and the server’s own lead to the page, whatever is asked of it', async () => {
  expect(await server.value('Playground')).toBe(`${url}/playground`)
  for (const path of ['/', '/playground']) {
    const led = await fetch(`${url}${path}?user=ana`)
    expect([led.status, led.url]).toEqual([200, `${url}/playground/?user=ana`])
    const { headers } = await post(url, path, { method: 'GET' })
    expect(headers.location).toBe('playground/')
  }
})

test('the page and all it loads come from this server, and it may talk to no other', async () => {
  const page = await fetch(`${url}/playground/`)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${url.replace('http', 'ws')};`
  expect(page.headers.get('content-security-policy')).toContain(policy)
  const html = await page.text()
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)]
    .map(([, address = '']) => address)
    .filter((address) => !address.startsWith('data:'))
  expect(addresses.length).toBeGreaterThan(1)
  for (const address of addresses) {
    expect(address).toMatch(/^\.\/assets\/[\w-]+\.(js|css)$/)
    const asset = await fetch(new URL(address, `${url}/playground/`))
    expect([asset.status, asset.headers.get('x-content-type-options')]).toEqual([200, 'nosniff'])
    expect(asset.headers.get('content-type')).toBe(
      address.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8',
    )
    expect(asset.headers.get('cache-control')).toContain('immutable')
    expect(await asset.text()).not.toMatch(/(?:url\(|@import |import\()["']?(?:https?:)?\/\//)
  }
  for (const path of ['assets/missing.js', 'assets/..%2Findex.html', 'missing', 'assets/__proto__'])
    expectError(await post(url, `/playground/${path}`, { method: 'GET' }), 'NOT_FOUND')
})

test('the page gets tokens of demo users of the demo app, and they are nowhere in the log', async () => {
  const answer = await ask('ana')
  expect([
    answer.status,
    answer.headers['cache-control'],
    answer.headers['access-control-allow-origin'],
  ]).toEqual([200, 'no-store', undefined])
  const { token, wsToken, user, appId } = JSON.parse(answer.body)
  expect(user).toEqual({ id: 'ana', name: 'Ana Sousa', image: null })
  expect(appId).toBe(
    (await createApi({ url, apiKey: demoKey }).tokens.create({ userId: 'zoe' })).appId,
  )
  expect((await createApi({ url, token }).channels.list()).channels).toEqual([])
  for (const secret of [token, wsToken]) expect(server.output()).not.toContain(secret)
})

test.each([['zoe'], ['Ana'], ['__proto__'], [''], [null], [['ana']], [undefined]])(
  'there is no token for %j',
  async (userId) => {
    expectError(await ask(userId), 'VALIDATION_ERROR')
  },
)

test('a body that can not be read is refused', async () => {
  expectError(
    await post(url, '/playground/token', { headers: own(), body: '{"userId":' }),
    'VALIDATION_ERROR',
  )
  expectError(await post(url, '/playground/token', { headers: own() }), 'VALIDATION_ERROR')
})

test.each([
  ['another site', { Origin: 'https://evil.example' }],
  ['a development server that may call the API', { Origin: 'http://localhost:3000' }],
  ['another port', { Origin: 'http://127.0.0.1:1' }],
  ['a sandboxed page', { Origin: 'null' }],
  ['a page that says it is from elsewhere', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a name that was made to point here', { Host: 'evil.example', Origin: 'http://evil.example' }],
])('the page of %s gets none', async (_, headers) => {
  expectError(await ask('ana', { ...own(), ...headers }), 'FORBIDDEN')
})

test('it is no part of the documented API', async () => {
  expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('playground')
})

test('in production there is nothing of it', async () => {
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
