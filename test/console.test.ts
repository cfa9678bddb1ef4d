import type { ErrorCode } from '@parley/contract'
import { createConsoleSessions } from '@parley/server/http/console-sessions'
import { expect, test } from 'vitest'
import { forge } from './support/forge.ts'
import { limited, none } from './support/limited.ts'
import { expectError, post } from './support/raw.ts'
import { ADMIN_KEY, PUBLIC_URL, useWorld } from './support/world.ts'

const withConsole = useWorld({
  hasConsole: true,
  rateLimits: { tokens: 0, messages: 0, requests: 0 },
})
const without = useWorld()

const ownHeaders = {
  'Content-Type': 'application/json',
  Host: new URL(PUBLIC_URL).host,
  Origin: PUBLIC_URL,
  'Sec-Fetch-Site': 'same-origin',
}
type Given = { method?: string; headers?: Record<string, string>; body?: unknown }
const ask = (path: string, { method = 'GET', headers, body }: Given = {}) =>
  post(withConsole().url, path, {
    method,
    headers: { ...ownHeaders, ...headers },
    body: body === undefined ? '' : JSON.stringify(body),
  })
const signIn = (adminKey: unknown, headers?: Record<string, string>) =>
  ask('/console/session', { method: 'POST', body: { adminKey }, ...(headers && { headers }) })
const cookieIn = ({ headers }: { headers: Record<string, string> }) =>
  headers['set-cookie']?.split(';')[0] ?? ''
const session = async () => ({ Cookie: cookieIn(await signIn(ADMIN_KEY)) })

test('the admin key opens a session, which reaches the operations of the operator', async () => {
  const { status, headers } = await signIn(ADMIN_KEY)
  expect(status).toBe(200)
  expect(headers['set-cookie']).toMatch(
    /^parley_console=[\w.-]+; Max-Age=43200; HttpOnly; Secure; SameSite=Strict$/,
  )
  expect(headers['set-cookie']).not.toContain(ADMIN_KEY)
  const answer = await ask('/console/admin/apps', { headers: await session() })
  const { apps } = await withConsole().operator.apps.list()
  expect(JSON.parse(answer.body).apps).toEqual(apps)
})

test.each([
  ['http:', 'HttpOnly; SameSite=Strict'],
  ['https:', 'HttpOnly; Secure; SameSite=Strict'],
])("a session at the server's IP address is one that browsers keep, over %s", async (by, flags) => {
  const host = '127.0.0.1:5501'
  const { status, headers } = await signIn(ADMIN_KEY, { Host: host, Origin: `${by}//${host}` })
  expect(status).toBe(200)
  expect(headers['set-cookie']?.split('; ').slice(2).join('; ')).toBe(flags)
})

test('a sign-in is noted in the audit log, and a refused one is not', async () => {
  const noted = async () => {
    const { entries } = await withConsole().operator.audit.list({ operation: 'console.signIn' })
    return entries
  }
  await signIn(ADMIN_KEY, { 'X-Request-Id': 'sign-in-17' })
  const before = await noted()
  expect(before[0]).toMatchObject({
    appId: null,
    actor: { type: 'operator' },
    target: { address: '127.0.0.1' },
    requestId: 'sign-in-17',
  })
  await signIn('another-admin-key')
  expect(await noted()).toEqual(before)
})

test('the page of the console loads everything from this server', async () => {
  const { status, headers } = await ask('/console/')
  expect(status).toBe(200)
  expect(headers['content-security-policy']).toContain("img-src 'self' data:; connect-src 'self';")
})

test('the address of the console leads to its page, also where it names a server', async () => {
  const locationOf = async (path: string) => (await ask(path)).headers.location
  expect(await locationOf('/console')).toBe('console/')
  expect(await locationOf('/console?app=1')).toBe('console/?app=1')
  expect(await locationOf('http://evil.com/console')).toBe('console/')
  expect(await locationOf('http://evil.com/console?app=1')).toBe('console/?app=1')
})

test('a session may change what the admin key may change', async () => {
  const given = { headers: await session(), method: 'POST', body: { name: 'From the console' } }
  const { status, body } = await ask('/console/admin/apps', given)
  expect([status, JSON.parse(body).name]).toEqual([201, 'From the console'])
})

test.each([
  ['another key', `${ADMIN_KEY}x`, 'UNAUTHORIZED'],
  ['no key', undefined, 'VALIDATION_ERROR'],
  ['a list', [ADMIN_KEY], 'VALIDATION_ERROR'],
  ['a very long key', 'x'.repeat(2_000), 'VALIDATION_ERROR'],
  ['a body of many kilobytes', 'x'.repeat(9_000), 'PAYLOAD_TOO_LARGE'],
] satisfies [string, unknown, ErrorCode][])('%s opens no session', async (_, key, code) => {
  const answer = await signIn(key)
  expectError(answer, code)
  expect(answer.headers['set-cookie']).toBeUndefined()
})

test('without a session the operations of the console are refused', async () => {
  expectError(await ask('/console/admin/apps'), 'UNAUTHORIZED')
  for (const cookie of ['parley_console=', 'parley_console=a.b.c', 'other=1', '=;;=;'])
    expectError(await ask('/console/admin/apps', { headers: { Cookie: cookie } }), 'UNAUTHORIZED')
})

test('a session ends with its admin key and after twelve hours', async () => {
  const withOtherKey = createConsoleSessions('another-admin-key')
  const { isValid, begin } = createConsoleSessions(ADMIN_KEY)
  const [cookie = ''] = (await begin(true)).split(';')
  expect(await isValid(cookie)).toBe(true)
  expect(await withOtherKey.isValid(cookie)).toBe(false)
  const [, claims = ''] = cookie.split('.')
  const { iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  expect(exp - iat).toBe(12 * 60 * 60)
})

test('a session that is signed with the admin key itself is refused', async () => {
  const { isValid, begin } = createConsoleSessions(ADMIN_KEY)
  const [cookie = ''] = (await begin(true)).split(';')
  const forged = forge(cookie.slice('parley_console='.length), { secret: ADMIN_KEY })
  expect(await isValid(`parley_console=${forged}`)).toBe(false)
})

test.each([
  ['another site', { Origin: 'https://evil.example' }],
  ['a page that its browser calls cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
  ['a page of a sibling domain', { 'Sec-Fetch-Site': 'same-site' }],
  ['a foreign name that resolves here', { Host: 'evil.example', Origin: 'http://evil.example' }],
])('the console does nothing for %s, even with a session', async (_, headers) => {
  const cookie = await session()
  expectError(await signIn(ADMIN_KEY, headers), 'FORBIDDEN')
  for (const method of ['GET', 'POST'])
    expectError(
      await ask('/console/admin/apps', { method, headers: { ...cookie, ...headers } }),
      'FORBIDDEN',
    )
  expectError(await ask('/console/session', { method: 'DELETE', headers }), 'FORBIDDEN')
})

test('a session reaches nothing but the operations of the operator, below /console', async () => {
  const headers = await session()
  expectError(await ask('/admin/apps', { headers }), 'UNAUTHORIZED')
  for (const path of ['/console/api/users', '/console/tokens', '/console/health'])
    expectError(await ask(path, { headers }), 'NOT_FOUND')
})

test('calls of the console, and wrong keys, count by address', async () => {
  const rateLimits = { ...none, tokens: 2, requests: 2 }
  const { app } = await limited({ hasConsole: true, rateLimits })
  const [cookie = ''] = (await createConsoleSessions(ADMIN_KEY).begin(true)).split(';')
  const [here, there] = ['192.0.2.1', '192.0.2.2']
  const list = async (remoteAddress: string) => {
    const headers = { ...ownHeaders, cookie }
    const asked = { method: 'GET', url: '/console/admin/apps', headers, remoteAddress } as const
    return (await app.inject(asked)).statusCode
  }
  const guess = async (remoteAddress: string) => {
    const payload = { adminKey: 'another-admin-key' }
    const asked = { method: 'POST', url: '/console/session', headers: ownHeaders } as const
    return (await app.inject({ ...asked, payload, remoteAddress })).statusCode
  }
  for (const [call, status] of [
    [list, 200],
    [guess, 401],
  ] as const) {
    for (const expected of [status, status, 429]) expect(await call(here)).toBe(expected)
    expect(await call(there)).toBe(status)
  }
})

test('signing out removes the cookie', async () => {
  const { status, headers } = await ask('/console/session', { method: 'DELETE' })
  expect(status).toBe(200)
  expect(headers['set-cookie']).toBe('parley_console=; Max-Age=0; HttpOnly; SameSite=Strict')
})

test('CONSOLE=off leaves no trace of the console', async () => {
  for (const path of ['/console', '/console/', '/console/assets/index.js', '/console/admin/apps'])
    expectError(await post(without().url, path, { method: 'GET' }), 'NOT_FOUND')
  const body = JSON.stringify({ adminKey: ADMIN_KEY })
  const headers = { 'Content-Type': 'application/json' }
  expectError(await post(without().url, '/console/session', { headers, body }), 'NOT_FOUND')
})
