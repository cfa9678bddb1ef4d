import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settingMeantBy } from '@parley/server/config/names'
import { expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const { start } = useChildren()

test('a name that is close to that of a setting is taken for it, and others are not', () => {
  const misspelt = {
    DATABASE_POOLSIZE: 'DATABASE_POOL_SIZE',
    LOGLEVEL: 'LOG_LEVEL',
    log_level: 'LOG_LEVEL',
    AUDIT_RETENTION: 'AUDIT_RETENTION_DAYS',
    ADMIN_KEY: 'ADMIN_API_KEY',
    JWT_SECRT: 'JWT_SECRET',
    JWT_SECRET_FILES: 'JWT_SECRET_FILE',
    ALLOWED_ORIGIN: 'ALLOWED_ORIGINS',
    PROT: 'PORT',
    HOTS: 'HOST',
    PORTS: 'PORT',
  }
  const others = ['PORT', 'JWT_SECRET_FILE', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'HOSTNAME']
  const variables = ['OTEL_EXPORTER_OTLP_HEADERS', 'DATABASE_HOST', 'TZ', 'PATH', 'API_KEY']
  const names = [...Object.keys(misspelt), ...others, ...variables]
  const found = names.map((name) => [name, settingMeantBy(name)])
  expect(found).toEqual([
    ...Object.entries(misspelt),
    ...[...others, ...variables].map((name) => [name, undefined]),
  ])
})

test('misspelt settings in .env are warned of, by parley check and by a start', async () => {
  const directory = createDataFolder('names')
  writeFileSync(join(directory, '.env'), 'AUDIT_RETENTION=10\nLOG_LEVEL=warn\nMY_OWN=1\n')
  const environment = { ...production, DATABASE_URL: world().databaseUrl }
  const line =
    'Warning: .env: AUDIT_RETENTION is no setting, so it does nothing. ' +
    'Is AUDIT_RETENTION_DAYS meant?'
  const ofEnv = (said: string) => said.split('\n').filter((text) => text.includes('.env'))

  const checked = start(environment, directory, 'check')
  expect(await checked.code).toBe(0)
  expect(ofEnv(checked.said())).toEqual([line])
  const started = start(environment, directory)
  await until(() => ofEnv(started.said()).length > 0)
  expect(ofEnv(started.said())).toEqual([line])
})

test('lines of .env that set nothing are warned of by their numbers', async () => {
  const directory = createDataFolder('lines')
  const quoted = 'NOTE="first\nhas none"\nOPEN="left\nCLOSED="right"'
  const lines = `PORT: 5599\n\n# no setting\n  # nor this\nMY_OWN=1\n${quoted}\nexport HOST\n`
  writeFileSync(join(directory, '.env'), lines)
  const environment = { ...production, DATABASE_URL: world().databaseUrl }
  const checked = start(environment, directory, 'check')
  expect(await checked.code).toBe(0)
  expect(checked.said().match(/^Warning: .env:.*$/gm)).toEqual([
    'Warning: .env: line 1 has no "=", so it does nothing',
    'Warning: .env: line 10 has no "=", so it does nothing',
  ])
})

test('a line of .env that sets nothing does not swallow the setting after it', async () => {
  const directory = createDataFolder('swallowed')
  const url = world().databaseUrl
  writeFileSync(join(directory, '.env'), `PORT: 5599\n\n# none\nexport DATABASE_URL=${url}\n`)
  const checked = start(production, directory, 'check')
  expect(await checked.code).toBe(0)
  expect(checked.said()).toContain('Warning: .env: line 1 has no "=", so it does nothing')
})

test('parley check warns of a Redis that does not answer, as a start does', async () => {
  const directory = createDataFolder('redis')
  const environment = { ...production, DATABASE_URL: world().databaseUrl }
  const url = 'redis://:hunter2@127.0.0.1:1'
  const checked = start({ ...environment, REDIS_URL: url }, directory, 'check')
  expect(await checked.code).toBe(0)
  expect(checked.output()).toMatch(/^Warning: Redis unavailable \(.*ECONNREFUSED.*\)\. Check RED/m)
  expect(checked.output()).not.toContain('hunter2')
})
