import { developmentOrigins, readConfig, Variables } from '@parley/server/config/index'
import { warningsOf } from '@parley/server/config/warnings'
import { describe, expect, test } from 'vitest'

const complaint = (variables: Record<string, string>) => {
  try {
    readConfig(variables)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
  throw new Error('no complaint')
}

describe('an invalid variable is reported in one line', () => {
  const bad: Record<string, string[]> = {
    NODE_ENV: ['prod', 'Production', 'staging'],
    PORT: ['x', '-1', '65536', '1.5', '0x10', '1e3', ' 5501 x'],
    DATABASE_URL: [
      'x',
      'mysql://localhost/a',
      'http://localhost',
      'localhost:5432',
      'postgres://localhost/a?search_path=b',
    ],
    DATABASE_SCHEMA: ['Chat', 'my chat', '1st', 'a-b', 'a"b', 'a,b', 'pg_chat', 'x'.repeat(51)],
    DATABASE_POOL_SIZE: ['0', '1', '1001', 'ten'],
    DATABASE_WAIT_SECONDS: ['-1', '601', '1.5'],
    ADMIN_API_KEY: ['short', 'with spaces in the key', 'é'.repeat(20)],
    JWT_SECRET: ['short', 'x'.repeat(31)],
    JWT_PREVIOUS_SECRETS: ['short', `${'x'.repeat(32)},short`],
    ALLOWED_ORIGINS: [
      'example.com',
      'https://example.com/',
      'https://example.com/path',
      'https://EXAMPLE.com',
      'https://example.com:443',
      'a,b',
      'https://u:p@example.com',
      'https://*.example.com:x',
    ],
    RATE_LIMIT_TOKENS: ['-1', 'off', '1.5'],
    RATE_LIMIT_MESSAGES: ['-1', 'off'],
    RATE_LIMIT_REQUESTS: ['-1', 'off'],
    RATE_LIMIT_APP_REQUESTS: ['-1', 'off'],
    RATE_LIMIT_APPENDS: ['-1', 'off'],
    TRUST_PROXY: [
      'true',
      'all',
      '*',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.0/33',
      'loopback',
      '10.0.0',
      '-1',
      '10.0.0.0/8,x',
    ],
    PUBLIC_URL: ['example.com', 'ftp://example.com', '/', 'https://a/?b=1', 'https://b@a'],
    EMBEDDED_DATABASE: ['no', 'true'],
    MIGRATE_ON_START: ['yes', 'never'],
    SHUTDOWN_DELAY_SECONDS: ['-1', '301', '0.5'],
    INVITE_URL: ['https://example.com/join', '/join/{token}', 'ftp://example.com/{token}'],
    LOG_SAMPLE: ['2', '-1', 'all', '1.5', ''.padEnd(2, '.')],
    LOG_LEVEL: ['loud', 'INFO'],
  }
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values)
      test(`${name}=${value} is refused, in a line with the name`, () =>
        expect(complaint({ [name]: value })).toMatch(new RegExp(`^${name}: expected [^\\n]+$`)))
  }
  test('the error does not contain the value, which may be a secret', () => {
    for (const name of ['ADMIN_API_KEY', 'JWT_SECRET', 'DATABASE_URL'])
      expect(complaint({ [name]: 'hunter2' })).not.toContain('hunter2')
  })
  test('several invalid variables are reported together', () =>
    expect(complaint({ PORT: 'x', LOG_LEVEL: 'loud' })).toMatch(/^PORT: .+; LOG_LEVEL: /))
})

test('an empty variable counts as unset', () => {
  const names = Object.keys(Variables.shape)
  expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual({
    ...readConfig({}),
    trustProxy: false,
  })
})

test('without variables the server is in development and listens on this machine only', () => {
  expect(readConfig({})).toMatchObject({
    isProduction: false,
    port: 5501,
    host: '127.0.0.1',
    databaseUrl: undefined,
    poolSize: 10,
    allowedOrigins: developmentOrigins,
    waitSeconds: 30,
    migrateOnStart: true,
    rateLimits: { tokens: 100, messages: 60, requests: 1_000, appends: 3_000, appRequests: 0 },
    socketsPerApp: 0,
    connectionsPerAddress: 0,
    userAdminAccess: 'bearer',
    presenceGraceSeconds: 15,
    purgeEmptyAfterDays: 0,
    auditRetentionDays: 365,
    hasConsole: true,
    webhooks: { allowedHosts: [], mustBeHttps: false },
    sendsSpans: false,
    workers: 1,
    jobs: 'on',
    metricsPort: undefined,
    logLevel: 'info',
    logSample: 1,
    shutdownDelayMs: 0,
  })
})

test('production listens on all addresses, but for metrics, and requires JWT_SECRET', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/chat' }
  expect(readConfig({ ...production, JWT_SECRET: 'x'.repeat(32) })).toMatchObject({
    isProduction: true,
    host: '0.0.0.0',
    metricsHost: '127.0.0.1',
    adminKey: undefined,
    userAdminAccess: 'server',
    webhooks: { mustBeHttps: true },
    logSample: 0.25,
    shutdownDelayMs: 5_000,
  })
  expect(complaint(production)).toBe('JWT_SECRET: required with NODE_ENV=production')
})

test('production starts no embedded database because of a typo in DATABASE_URL', () => {
  const typo = {
    NODE_ENV: 'production',
    JWT_SECRET: 'x'.repeat(32),
    DATBASE_URL: 'postgres://db/a',
  }
  expect(complaint(typo)).toMatch(
    /^DATABASE_URL: required with NODE_ENV=production\. EMBEDDED_DATABASE=yes .+$/,
  )
  const { JWT_SECRET: _, ...rest } = typo
  expect(complaint(rest)).toMatch(/^JWT_SECRET: required .+; DATABASE_URL: required /)
  const { databaseUrl } = readConfig({ ...typo, EMBEDDED_DATABASE: 'yes' })
  expect(databaseUrl).toBeUndefined()
})

describe('settings that are valid but probably a mistake are warned of', () => {
  const warned = (variables: Record<string, string>) =>
    warningsOf(readConfig(variables), 'ws://here').map((line) => line.split(/[ =:]/)[0])
  const production = {
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://db/chat',
    JWT_SECRET: 'one that repeats nothing, of 32 bytes or more',
    ADMIN_API_KEY: 'the-key-of-the-operator',
    PUBLIC_URL: 'https://chat.example.com',
    TRUST_PROXY: '1',
    ALLOWED_ORIGINS: 'https://app.example.com',
    INVITE_URL: 'https://app.example.com/join?invite={token}',
  }
  const embedded = { ...production, DATABASE_URL: '', EMBEDDED_DATABASE: 'yes' }
  const cases: [string, Record<string, string>, string[]][] = [
    ['a complete production', production, []],
    ['no PUBLIC_URL', { ...production, PUBLIC_URL: '' }, ['PUBLIC_URL']],
    ['https without TRUST_PROXY', { ...production, TRUST_PROXY: '' }, ['TRUST_PROXY']],
    ['https and no proxy at all', { ...production, TRUST_PROXY: '0' }, []],
    ['http', { ...production, PUBLIC_URL: 'http://a', TRUST_PROXY: '' }, ['PUBLIC_URL']],
    ['an embedded database', embedded, ['DATABASE_URL']],
    ['no key', { ...production, ADMIN_API_KEY: '' }, ['ADMIN_API_KEY']],
    ['no page for invites', { ...production, INVITE_URL: '' }, ['INVITE_URL']],
    ['no origins', { ...production, ALLOWED_ORIGINS: '' }, ['ALLOWED_ORIGINS']],
    ['pages of every site', { ...production, ALLOWED_ORIGINS: '*' }, ['ALLOWED_ORIGINS']],
    ['bearers', { ...production, USER_ADMIN_ACCESS: 'bearer' }, ['USER_ADMIN_ACCESS']],
    ['development, with bearers by default', { ALLOWED_ORIGINS: '*' }, ['USER_ADMIN_ACCESS']],
    ['tests', { NODE_ENV: 'test', USER_ADMIN_ACCESS: 'server' }, []],
  ]
  for (const [name, variables, names] of cases)
    test(`${name}: ${names.join() || 'nothing'}`, () => expect(warned(variables)).toEqual(names))
})

test('valid variables are parsed', () => {
  expect(
    readConfig({
      ALLOWED_ORIGINS: 'https://a.example.com, http://localhost:3000,capacitor://localhost',
    }).allowedOrigins,
  ).toEqual(['https://a.example.com', 'http://localhost:3000', 'capacitor://localhost'])
  expect(readConfig({ ALLOWED_ORIGINS: '*' }).allowedOrigins).toEqual(['*'])
  expect(readConfig({ TRUST_PROXY: '10.0.0.0/8, ::1' }).trustProxy).toBe('10.0.0.0/8, ::1')
  expect(readConfig({ PUBLIC_URL: 'https://chat.example.com/' }).publicUrl).toBe(
    'https://chat.example.com',
  )
  expect(
    readConfig({ DATABASE_URL: 'postgres://parley@%2Frun%2Fpostgresql/parley' }).databaseUrl,
  ).toBe('postgres://parley@%2Frun%2Fpostgresql/parley')
})

test('TRUST_PROXY=2 trusts the two nearest proxies and no further address', () => {
  const { trustProxy } = readConfig({ TRUST_PROXY: '2' })
  const isTrusted = (hop: number) =>
    typeof trustProxy === 'function' ? trustProxy('192.0.2.1', hop) : undefined
  expect([0, 1, 2, 3].map(isTrusted)).toEqual([true, true, false, false])
})

test('hosts that previews may be fetched from are read in any case', () => {
  const { previews } = readConfig({ LINK_PREVIEW_ALLOW_HOSTS: 'Wiki.Intranet:80, [::1]:8080' })
  expect(previews.allowedHosts).toEqual(['wiki.intranet:80', '[::1]:8080'])
})

test('the push provider is configured by its variables, and absent without a key', () => {
  const names = {
    PUSH_API_URL: 'https://push.example.com/',
    PUSH_TENANT_ID: 'acme',
    PUSH_WORKFLOW_NEW_MESSAGE: 'a',
    PUSH_WORKFLOW_MENTION: 'b',
  }
  const others = {
    PUSH_WORKFLOW_CHANNEL_INVITE: 'c',
    PUSH_WORKFLOW_REACTION: 'd',
    PUSH_WORKFLOW_THREAD_REPLY: 'e',
  }
  expect(readConfig({ ...names, ...others }).push).toBeUndefined()
  expect(readConfig({ ...names, ...others, PUSH_SECRET_KEY: 'key' }).push).toEqual({
    secretKey: 'key',
    apiUrl: 'https://push.example.com',
    tenantId: 'acme',
    workflows: {
      'new-message': 'a',
      mention: 'b',
      'channel-invite': 'c',
      reaction: 'd',
      'thread-reply': 'e',
    },
  })
  const kinds = ['new-message', 'mention', 'channel-invite', 'reaction', 'thread-reply']
  expect(readConfig({ PUSH_SECRET_KEY: 'key' }).push).toEqual({
    secretKey: 'key',
    apiUrl: 'http://localhost:3000',
    tenantId: undefined,
    workflows: Object.fromEntries(kinds.map((kind) => [kind, kind])),
  })
})

test('DATABASE_SCHEMA is the search path of every connection, and needs DATABASE_URL', () => {
  const { databaseUrl } = readConfig({
    DATABASE_URL: 'postgres://db/chat?sslmode=require',
    DATABASE_SCHEMA: 'mine',
  })
  expect(databaseUrl).toBe('postgres://db/chat?sslmode=require&search_path=mine')
  expect(complaint({ DATABASE_SCHEMA: 'mine' })).toBe(
    'DATABASE_SCHEMA: expected with DATABASE_URL only',
  )
})
