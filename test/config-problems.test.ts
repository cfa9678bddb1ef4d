import { readConfig } from '@parley/server/config/index'
import { warningsOf } from '@parley/server/config/warnings'
import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

const complaint = (variables: Record<string, string>) => {
  try {
    readConfig(variables)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
  return 'no complaint'
}
const secrets = { JWT_SECRET: 'x'.repeat(32), ADMIN_API_KEY: 'the-key-of-the-operator' }

test.each([
  ['JOBS', 'sometimes', 'expected on, external or off, not "sometimes"'],
  ['USER_ADMIN_ACCESS', 'all', 'expected bearer or server, not "all"'],
  ['NODE_ENV', 'prod', 'expected development, test or production, not "prod"'],
  ['EMBEDDED_DATABASE', 'no', 'expected yes, not "no"'],
  ['MIGRATE_ON_START', 'yes', 'expected on or off, not "yes"'],
  ['CONSOLE', 'yes', 'expected on or off, not "yes"'],
  ['LOG_LEVEL', 'x'.repeat(99), `expected fatal, error, .+ or silent, not "${'x'.repeat(39)}`],
  ['LOG_SAMPLE', '2', 'expected a number from 0 to 1, not "2"'],
  ['PORT', '70000', 'expected a whole number from 0 to 65535, not "70000"'],
  ['METRICS_PORT', 'x', 'expected a whole number from 0 to 65535, not "x"'],
  ['DATABASE_POOL_SIZE', '1', 'expected a whole number from 2 to 1000, not "1"'],
  ['WORKERS', '0', 'expected auto, or a whole number from 1 to 256, not "0"'],
])('%s=%s is refused with what is allowed and what was given', (name, value, problem) => {
  expect(complaint({ [name]: value })).toMatch(new RegExp(`^${name}: ${problem}$`))
})

test('everything that is wrong with the settings is said at once, missing secrets included', () => {
  const said = complaint({
    NODE_ENV: 'production',
    PORT: 'x',
    JOBS: 'sometimes',
    ADMIN_API_KEY_FILE: '/nope',
    DATABASE_SCHEMA: 'mine',
  })
  expect(String(said).split('; ')).toEqual([
    'ADMIN_API_KEY_FILE: /nope cannot be read (ENOENT)',
    'PORT: expected a whole number from 0 to 65535, not "x"',
    'JOBS: expected on, external or off, not "sometimes"',
    'JWT_SECRET: required with NODE_ENV=production',
    expect.stringMatching(/^DATABASE_URL: required with NODE_ENV=production\. /),
    'DATABASE_SCHEMA: expected with DATABASE_URL only',
  ])
})

test('a secret whose file cannot be read is not said to be missing as well', () => {
  const given = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/chat' }
  expect(complaint({ ...given, JWT_SECRET_FILE: '/nope' })).toBe(
    'JWT_SECRET_FILE: /nope cannot be read (ENOENT)',
  )
})

test.each([
  [{ METRICS_PORT: '5501' }, true],
  [{ METRICS_PORT: '80', PORT: '080', HOST: 'localhost' }, true],
  [{ METRICS_PORT: '80', PORT: '80', HOST: '0.0.0.0' }, true],
  [{ METRICS_PORT: '80', PORT: '80', HOST: '10.0.0.1', METRICS_HOST: '::' }, true],
  [{ METRICS_PORT: '80', PORT: '80', NODE_ENV: 'production' }, true],
  [{ METRICS_PORT: '80', PORT: '80', HOST: '10.0.0.1' }, false],
  [{ METRICS_PORT: '0', PORT: '0' }, false],
  [{ METRICS_PORT: '9100' }, false],
])('the ports of %o are the same one: %s', (given, isOne) => {
  const problem = `METRICS_PORT: expected another port than PORT, ${given.METRICS_PORT} given `
  const said = complaint({ ...secrets, DATABASE_URL: 'postgres://db/chat', ...given })
  expect(said).toBe(isOne ? `${problem}for both` : 'no complaint')
})

test('a wildcard within an origin is refused, since origins are compared as they are', () => {
  for (const origin of ['https://*.example.com', 'https://example.com:*', 'https://*', '*,*.test'])
    expect(complaint({ ALLOWED_ORIGINS: origin })).toMatch(
      /^ALLOWED_ORIGINS.*: expected origins .+, without trailing slash or wildcard, or only \*/,
    )
})

test('a list of origins that is empty is warned of', () => {
  const given = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/chat', ...secrets }
  const warnings = warningsOf(readConfig({ ...given, ALLOWED_ORIGINS: ',' }), 'ws://here')
  expect(warnings).toContainEqual(expect.stringMatching(/^ALLOWED_ORIGINS has no origin: /))
})

test('the settings of an app are refused with what is allowed and what was given', async () => {
  const { operator, appId } = world()
  const refusal = (settings: object) =>
    operator.apps.update({ appId, settings } as never).catch((error) => error.message)
  const cases: [object, string][] = [
    [
      { messageRetentionDays: 0 },
      'messageRetentionDays: expected whole days from 1 to 36500, or null, not 0',
    ],
    [
      { messageRetentionDays: 1.5 },
      'messageRetentionDays: expected whole days from 1 to 36500, or null, not 1.5',
    ],
    [
      { messageRetentionDays: '7' },
      'messageRetentionDays: expected whole days from 1 to 36500, or null, not "7"',
    ],
    [{ userAdminAccess: 'all' }, 'userAdminAccess: expected bearer, server or null, not "all"'],
    [
      { rateLimits: { tokens: -1 } },
      'rateLimits.tokens: expected a whole number from 0 to 1000000, or null, not -1',
    ],
    [
      { rateLimits: { appRequests: 'x'.repeat(99) } },
      'rateLimits.appRequests: expected a whole number from 0 to 1000000, or null, ' +
        `not "${'x'.repeat(39)}`,
    ],
  ]
  for (const [settings, problem] of cases)
    expect(await refusal(settings)).toBe(`settings.${problem}`)
})
