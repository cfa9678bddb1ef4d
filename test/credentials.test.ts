import { randomUUID } from 'node:crypto'
import { createTokens } from '@parley/server/core/signed-tokens'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type Forgery, forge as forgeFrom } from './support/forge.ts'
import { unknownId } from './support/ids.ts'
import { expectError, post } from './support/raw.ts'
import { ADMIN_KEY, SECRET, type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
let ana: User
beforeAll(async () => {
  ana = await world().user('ana')
})

const get = (headers: Record<string, string>) =>
  post(world().url, '/api/devices/preferences', { method: 'GET', headers })
const withToken = (token: string) => get({ Authorization: `Bearer ${token}` })
const claims = () => ({ appId: world().appId, userId: 'ana', generation: 0, isAdmin: false })

const invalid = { refusal: 'invalid' }
const forge = (forgery: Forgery) => forgeFrom(ana.token, forgery)

test('a token forged with the right secret and claims is accepted', async () => {
  expect((await withToken(forge({}))).status).toBe(200)
})

test('a token is valid although a second begins while it is signed', async () => {
  const tokens = await createTokens([SECRET])
  let now = Date.now()
  // At each reading of the clock, another second has passed.
  class FastDate extends Date {
    constructor() {
      super(FastDate.now())
    }
    static override now() {
      now += 1_000
      return now
    }
  }
  vi.stubGlobal('Date', FastDate)
  const signing = tokens.sign('api', claims()).finally(() => vi.unstubAllGlobals())
  expect(await tokens.verify('api', await signing)).toMatchObject({ userId: 'ana' })
})

describe('credentials of the wrong kind are UNAUTHORIZED', () => {
  const KINDS = [
    'none',
    'Basic auth',
    'a bare token',
    'an empty header',
    'Bearer glued to its token',
    'the admin key',
    'a token in a cookie',
  ] as const
  const others = (): Record<(typeof KINDS)[number], Record<string, string>> => ({
    none: {},
    'Basic auth': { Authorization: `Basic ${Buffer.from(`ana:${ana.token}`).toString('base64')}` },
    'a bare token': { Authorization: ana.token },
    'an empty header': { Authorization: '' },
    'Bearer glued to its token': { Authorization: `Bearer${ana.token}` },
    'the admin key': { 'X-Admin-Key': ADMIN_KEY },
    'a token in a cookie': { Cookie: `token=${ana.token}` },
  })
  for (const name of KINDS) {
    test(name, async () =>
      expect(expectError(await get(others()[name]), 'UNAUTHORIZED')).toBe(
        'Authorization: expected Bearer <token>',
      ),
    )
  }
  test('an API key where a user is expected: the error names what is missing', async () => {
    const { apiKey } = world()
    const message = 'X-User-Id: expected beside X-API-Key, or Authorization: Bearer <token>'
    for (const key of [apiKey, `${apiKey}x`])
      expect(expectError(await get({ 'X-API-Key': key }), 'UNAUTHORIZED')).toBe(message)
  })
  test('a token is no API key, and neither is an admin key', async () => {
    const body = '{"userId":"ana"}'
    const json = { 'Content-Type': 'application/json' }
    const noApiKeys: Record<string, string>[] = [
      {},
      { 'X-API-Key': ana.token },
      { 'X-API-Key': '' },
      { 'X-API-Key': `${world().apiKey}x` },
      { Authorization: `Bearer ${world().apiKey}` },
      { Authorization: `Bearer ${ana.token}` },
      { 'X-API-Key': ADMIN_KEY },
    ]
    for (const headers of noApiKeys)
      expectError(
        await post(world().url, '/tokens', { headers: { ...json, ...headers }, body }),
        'UNAUTHORIZED',
      )
    const noAdminKeys: Record<string, string>[] = [
      {},
      { 'X-Admin-Key': '' },
      { 'X-Admin-Key': world().apiKey },
      { 'X-Admin-Key': ana.token },
      { 'X-API-Key': ADMIN_KEY },
      { 'X-Admin-Key': ADMIN_KEY.slice(0, -1) },
    ]
    for (const headers of noAdminKeys)
      expectError(
        await post(world().url, '/admin/apps', {
          headers: { ...json, ...headers },
          body: '{"name":"a"}',
        }),
        'UNAUTHORIZED',
      )
  })
})

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Another spelling of the same bytes: the last digit has two bits that stand for none. */
const withSpareBits = (token: string) =>
  `${token.slice(0, -1)}${DIGITS[DIGITS.indexOf(token.slice(-1)) + 1]}`

describe('an invalid bearer token is an INVALID_TOKEN', () => {
  const now = () => Math.floor(Date.now() / 1000)
  const unsigned = (alg: string) =>
    `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.${ana.token.split('.')[1]}.`
  const bad: Record<string, () => string | Promise<string>> = {
    nothing: () => '',
    garbage: () => 'garbage',
    'three dots': () => '...',
    'not ASCII': () => 'tökén',
    'two tokens': () => `${ana.token} ${ana.token}`,
    'one of 12 KB': () => 'a'.repeat(12_000),
    'an API key': () => world().apiKey,
    'one cut short': () => ana.token.slice(0, -1),
    'another signature': () => `${ana.token.slice(0, -4)}AAAA`,
    'its signature with blanks': () => `${ana.token.slice(0, -4)}  ${ana.token.slice(-4)}`,
    'the last digit of its signature with bits to spare': () => withSpareBits(ana.token),
    'one for the socket': () => ana.minted.wsToken,
    'no algorithm': () => unsigned('none'),
    'no algorithm, in capitals': () => unsigned('NONE'),
    HS512: () => forge({ header: { alg: 'HS512' }, hash: 'sha512' }),
    HS384: () => forge({ header: { alg: 'HS384' }, hash: 'sha384' }),
    'another secret': () => forge({ secret: 'another secret, of 32 bytes or more' }),
    'another deployment': async () =>
      (await createTokens(['another secret, of 32 bytes or more'])).sign('api', claims()),
    'an unknown key id': () => forge({ header: { kid: 'unknown' } }),
    'no key id': () => forge({ header: { kid: undefined } }),
    'an object as key id': () => forge({ header: { kid: {} } }),
    'critical headers': () => forge({ header: { crit: ['b64'], b64: false } }),
    expired: () => forge({ payload: { exp: now() - 1 } }),
    'expired while its signer says it is not': () =>
      forge({ payload: { iat: now() - 86_500, exp: now() + 86_400 } }),
    'from the future, for longer than a day': () =>
      forge({ payload: { iat: now() + 3_600, exp: now() + 3_600 + 86_401 } }),
    'not yet valid': () => forge({ payload: { nbf: now() + 3_600 } }),
    'another audience': () => forge({ payload: { aud: 'parley-ws' } }),
    'another issuer': () => forge({ payload: { iss: 'other' } }),
    'another app': () => forge({ payload: { app: randomUUID() } }),
    'an impossible app id': () => forge({ payload: { app: "' or 1=1" } }),
    'an object as app id': () => forge({ payload: { app: {} } }),
    'an unknown user': () => forge({ payload: { sub: 'nobody' } }),
    'an impossible user id': () => forge({ payload: { sub: 'a\0b' } }),
    'an earlier generation': () => forge({ payload: { gen: -1 } }),
    'a generation beyond counting': () => forge({ payload: { gen: 1e300 } }),
    ...Object.fromEntries(
      ['sub', 'app', 'gen', 'jti', 'iat', 'exp', 'aud', 'iss'].map((claim) => [
        `no ${claim}`,
        () => forge({ payload: { [claim]: undefined } }),
      ]),
    ),
  }
  for (const [name, token] of Object.entries(bad)) {
    test(name, async () =>
      expect(expectError(await withToken(await token()), 'INVALID_TOKEN')).toMatch(
        /^The token (is invalid|has expired|has been revoked)$/,
      ),
    )
  }
  test('a bearer token that is invalid is refused even beside a valid API key', async () => {
    const path = `/api/channels/${unknownId}/messages/${unknownId}`
    const remove = (headers: Record<string, string>) =>
      post(world().url, path, { method: 'DELETE', headers })
    expectError(
      await remove({ Authorization: 'Bearer x', 'X-API-Key': world().apiKey }),
      'INVALID_TOKEN',
    )
    expectError(
      await remove({ Authorization: 'Basic x', 'X-API-Key': world().apiKey }),
      'NOT_FOUND',
    )
    expectError(
      await remove({ Authorization: `Bearer ${ana.token}`, 'X-API-Key': 'x' }),
      'NOT_FOUND',
    )
    expectError(await remove({ 'X-API-Key': 'x' }), 'UNAUTHORIZED')
    expectError(await remove({}), 'UNAUTHORIZED')
  })
})

test('a token of a node whose clock is an hour ahead is valid', async () => {
  const iat = Math.floor(Date.now() / 1000) + 3_600
  const token = forge({ payload: { iat, exp: iat + 86_400 } })
  expect((await withToken(token)).status).toBe(200)
})

test('header names and the Bearer scheme are read in any case', async () => {
  const spellings: Record<string, string>[] = [
    { authorization: `bearer ${ana.token}` },
    { AUTHORIZATION: `BEARER  ${ana.token}` },
  ]
  for (const headers of spellings) expect((await get(headers)).status).toBe(200)
})

describe('rotating secrets', () => {
  const [before, after] = [
    'the secret of before, 32 bytes or more',
    'the secret of after, 32 bytes or more',
  ]
  test('previous secrets verify, and the first secret signs', async () => {
    const old = await (await createTokens([before])).sign('api', claims())
    const rotated = await createTokens([after, before])
    expect(await rotated.verify('api', old)).toMatchObject({ userId: 'ana' })
    const fresh = await rotated.sign('api', claims())
    expect(await (await createTokens([after])).verify('api', fresh)).toMatchObject({
      userId: 'ana',
    })
    expect(await (await createTokens([after])).verify('api', old)).toEqual(invalid)
    expect(await (await createTokens([before])).verify('api', fresh)).toEqual(invalid)
  })
  test('a token verified once still expires, and is not valid for another purpose', async () => {
    const tokens = await createTokens([after])
    const token = await tokens.sign('api', claims())
    const known = await tokens.verify('api', token)
    const end = 'expiresAt' in known ? 1_000 * known.expiresAt : Number.NaN
    expect(await tokens.verify('api', token, end - 1)).toMatchObject({ userId: 'ana' })
    expect(await tokens.verify('api', token, end)).toMatchObject({ refusal: 'expired' })
    expect(await tokens.verify('ws', token)).toMatchObject({
      ...invalid,
      user: { userId: 'ana' },
    })
  })
  test('a socket token whose subject belongs to another app is invalid', async () => {
    const tokens = await createTokens([SECRET])
    const forged = forge({ payload: { aud: 'parley-ws', sub: `${randomUUID()}:ana` } })
    expect(await tokens.verify('ws', forged)).toEqual(invalid)
    expect(await tokens.verify('ws', ana.minted.wsToken)).toMatchObject({
      appId: world().appId,
      userId: 'ana',
    })
  })
})
