import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '@parley/server/config/index'
import { secretVariables } from '@parley/server/config/secret-files'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { root } from './support/consumer.ts'

const folder = mkdtempSync(join(tmpdir(), 'parley-secrets-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string, content: string) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
const secrets = {
  DATABASE_URL: 'postgres://parley:hunter2@db/chat',
  REDIS_URL: 'redis://:hunter3@cache',
  ADMIN_API_KEY: 'the-key-of-the-operator',
  JWT_SECRET: 'j'.repeat(32),
  JWT_PREVIOUS_SECRETS: `${'p'.repeat(32)},${'q'.repeat(32)}`,
  PUSH_SECRET_KEY: 'push-key',
}

test('each secret can be in a file, which may end in a line break', () => {
  expect(secretVariables).toEqual(Object.keys(secrets))
  const files = Object.entries(secrets).map(([name, value]) => [
    `${name}_FILE`,
    file(name, `${value}\n`),
  ])
  expect(readConfig({ NODE_ENV: 'production', ...Object.fromEntries(files) })).toEqual(
    readConfig({ NODE_ENV: 'production', ...secrets }),
  )
})

test('a secret in a file counts as given for the settings that need it', () => {
  const given = { NODE_ENV: 'production', ...secrets, DATABASE_SCHEMA: 'mine' }
  const { DATABASE_URL, JWT_SECRET, ...others } = given
  const files = {
    DATABASE_URL_FILE: file('DATABASE_URL', DATABASE_URL),
    JWT_SECRET_FILE: file('JWT_SECRET', JWT_SECRET),
  }
  expect(readConfig({ ...others, ...files })).toEqual(readConfig(given))
})

test('the README and .env.example say which variables can be in files', () => {
  const read = (name: string) => readFileSync(join(root, name), 'utf8')
  const [header = ''] = read('.env.example').split('\n\n')
  const row = /^\| `JWT_SECRET_FILE` .*$/m.exec(read('README.md'))?.[0] ?? ''
  for (const name of secretVariables) {
    expect(header).toContain(name)
    expect(row).toContain(name)
  }
})

test('a secret file that is missing, empty or beside its variable is refused unshown', () => {
  const path = file('both', secrets.JWT_SECRET)
  const missing = join(folder, 'missing')
  const empty = file('empty', '\n')
  const refusals: [Record<string, string>, string][] = [
    [{ JWT_SECRET_FILE: missing }, `JWT_SECRET_FILE: ${missing} cannot be read (ENOENT)`],
    [{ JWT_SECRET_FILE: empty }, `JWT_SECRET_FILE: ${empty} is empty`],
    [
      { JWT_SECRET_FILE: path, JWT_SECRET: secrets.JWT_SECRET },
      'JWT_SECRET: expected without JWT_SECRET_FILE',
    ],
    [{ ADMIN_API_KEY_FILE: file('short', 'hunter2') }, 'ADMIN_API_KEY: expected at least 16'],
  ]
  for (const [variables, message] of refusals) {
    expect(() => readConfig(variables)).toThrow(message)
    expect(() => readConfig(variables)).not.toThrow('hunter2')
  }
})

test('a .env that cannot be read is named in the refusal', () => {
  const file = join(realpathSync(folder), '.env')
  mkdirSync(file)
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(folder)
  expect(() => readConfig()).toThrow(`.env: ${file} cannot be read (EISDIR)`)
})
