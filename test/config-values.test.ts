import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { readConfig, Variables } from '@parley/server/config/index'
import { expect, test } from 'vitest'

const secret = 'x'.repeat(32)

test('each variable decides the setting of its name, in its unit', () => {
  const config = readConfig({
    PORT: '1',
    DATABASE_POOL_SIZE: '2',
    DATABASE_WAIT_SECONDS: '3',
    REDIS_URL: 'redis://cache',
    REDIS_PREFIX: 'chat',
    RATE_LIMIT_TOKENS: '4',
    RATE_LIMIT_MESSAGES: '5',
    RATE_LIMIT_REQUESTS: '6',
    RATE_LIMIT_APP_REQUESTS: '7',
    RATE_LIMIT_APPENDS: '14',
    WORKERS: '3',
    SOCKETS_PER_USER: '8',
    SOCKETS_PER_APP: '9',
    CONNECTIONS_PER_ADDRESS: '10',
    EVENT_MEMORY_MB: '9',
    SEND_MEMORY_MB: '10',
    PRESENCE_GRACE_SECONDS: '11',
    PURGE_EMPTY_AFTER_DAYS: '12',
    AUDIT_RETENTION_DAYS: '15',
    SHUTDOWN_DELAY_SECONDS: '16',
    CONSOLE: 'off',
    LOG_SAMPLE: '0.5',
    WEBHOOK_ALLOW_HOSTS: 'Hooks:8080',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    METRICS_PORT: '13',
    METRICS_HOST: '192.0.2.1',
    MIGRATE_ON_START: 'off',
    USER_ADMIN_ACCESS: 'server',
    JOBS: 'external',
    LOG_LEVEL: 'warn',
    INVITE_URL: 'https://example.com/{token}',
    ADMIN_API_KEY: 'the-admin-key-16',
    JWT_SECRET: secret,
    JWT_PREVIOUS_SECRETS: `${secret}a, ${secret}b`,
  })
  expect(config).toMatchObject({
    port: 1,
    poolSize: 2,
    waitSeconds: 3,
    redis: { target: { kind: 'single', hosts: [{ host: 'cache' }] }, prefix: 'chat' },
    rateLimits: { tokens: 4, messages: 5, requests: 6, appends: 14, appRequests: 7 },
    workers: 3,
    socketsPerUser: 8,
    socketsPerApp: 9,
    connectionsPerAddress: 10,
    eventMemoryBytes: 9 * 1024 * 1024,
    sendMemoryBytes: 10 * 1024 * 1024,
    presenceGraceSeconds: 11,
    purgeEmptyAfterDays: 12,
    auditRetentionDays: 15,
    shutdownDelayMs: 16_000,
    hasConsole: false,
    logSample: 0.5,
    webhooks: { allowedHosts: ['hooks:8080'], mustBeHttps: false },
    sendsSpans: true,
    metricsPort: 13,
    metricsHost: '192.0.2.1',
    migrateOnStart: false,
    userAdminAccess: 'server',
    jobs: 'external',
    logLevel: 'warn',
    inviteUrl: 'https://example.com/{token}',
    adminKey: 'the-admin-key-16',
    jwtSecret: secret,
    previousJwtSecrets: [`${secret}a`, `${secret}b`],
  })
})

test('WORKERS=auto starts as many processes as there are processors', () => {
  expect(readConfig({ WORKERS: 'auto' }).workers).toBe(availableParallelism())
})

test('an admin key of 15 characters and a schema of PostgreSQL are refused', () => {
  expect(() => readConfig({ ADMIN_API_KEY: 'the-admin-key-1' })).toThrow('at least 16')
  const variables = { DATABASE_URL: 'postgres://db/chat', DATABASE_SCHEMA: 'pg_chat' }
  expect(() => readConfig(variables)).toThrow('DATABASE_SCHEMA: expected a name')
})

test('a database on several hosts is refused, and commas elsewhere in its URL are not', () => {
  const urls = ['one,two/a', 'ana:word@one:5432,two:5433/a', 'one%2Ctwo/a']
  for (const url of urls)
    expect(() => readConfig({ DATABASE_URL: `postgres://${url}` })).toThrow(
      /^DATABASE_URL: expected one host, such as that of a proxy before several$/,
    )
  const commas = 'postgres://ana:w,d@db/a,b?options=-c%20x=1,2'
  expect(readConfig({ DATABASE_URL: commas }).databaseUrl).toBe(commas)
})

test('a password that is not encoded is refused, and the error does not quote it', () => {
  const passwords = [
    'hunter@two/x',
    'hunter/two',
    'hunter?two',
    'hunter#two',
    '12/hunter',
    '1?hunter',
    'hunter%two',
    'hunter2%',
  ]
  for (const password of passwords)
    expect(() => readConfig({ DATABASE_URL: `postgres://ana:${password}@db:5432/chat` })).toThrow(
      /^DATABASE_URL: expected a password in percent-encoding: @ is %40, .*, # %23 and % %25$/,
    )
  const encoded = 'postgres://ana:hunter%40two%2Fx@db:5432/chat?application_name=a%40b'
  expect(readConfig({ DATABASE_URL: encoded }).databaseUrl).toBe(encoded)
})

test('a DATABASE_URL that is no postgres:// URL is not reported as a bad password', () => {
  const others = ['postgres:/ana:two@db/chat', 'ana:two@db/chat', 'mysql://ana:t@wo@db/chat']
  for (const DATABASE_URL of others)
    expect(() => readConfig({ DATABASE_URL })).toThrow(
      /^DATABASE_URL: expected a postgres:\/\/ URL$/,
    )
})

test('.env.example lists every variable and no other', () => {
  const lines = readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
  const listed = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  expect(Object.keys(listed).sort()).toEqual(Object.keys(Variables.shape).sort())
  expect(readConfig(listed)).toEqual({ ...readConfig({}), trustProxy: false })
})
