import { inspect } from 'node:util'
import { readConfig } from '@parley/server/config/index'
import { withoutPassword } from '@parley/server/config/urls'
import { warningsOf } from '@parley/server/config/warnings'
import { createProviderCall } from '@parley/server/jobs/push/provider-call'
import { expect, test } from 'vitest'
import { serveProvider } from './support/provider.ts'

const NO_HEADER = 'expected printable ASCII characters without space'

test.each([
  ['PUSH_SECRET_KEY', 'hunter\ntwo', NO_HEADER],
  ['PUSH_SECRET_KEY', 'hunter two', NO_HEADER],
  ['PUSH_SECRET_KEY', 'hunter–two', NO_HEADER],
  ['PUSH_API_URL', 'http://ana:hunter@two:80', 'expected no query, fragment, user or password'],
  ['PUSH_API_URL', 'http://two?key=hunter', 'expected no query, fragment, user or password'],
])('%s=%j is refused, and the error does not quote it', (name, value, problem) => {
  expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name}: ${problem}$`))
})

test('errors of calls to the push provider quote neither its key nor a password', async () => {
  const provider = await serveProvider()
  const { apiUrl } = provider.settings
  const secretKey = 'hunter2'
  // Some proxies answer with what they were sent.
  provider.behave((response, { key }) => void response.writeHead(401).end(`not ${key}`))
  const wrong = [
    { apiUrl, secretKey },
    { apiUrl, secretKey: `${secretKey}\nand more` },
    { apiUrl: apiUrl.replace('//', `//ana:${secretKey}@`), secretKey: 'x' },
  ]
  for (const settings of wrong) {
    const error = await createProviderCall(settings)('GET', '/v2/workflows/x').catch(
      (error) => error,
    )
    expect(String(error)).toMatch(/^ProviderUnavailableError: GET \/v2\/workflows\/x /)
    expect(inspect(error, { depth: 9 })).not.toContain(secretKey)
  }
  await provider.stop()
})

test('a secret of blanks is refused, and one that repeats a short pattern is warned of', () => {
  const problem = /^JWT_SECRET: expected at least 32 bytes, blanks around them not counted$/
  for (const secret of [' '.repeat(40), ` ${'x'.repeat(31)} `])
    expect(() => readConfig({ JWT_SECRET: secret })).toThrow(problem)

  const given = {
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://db/chat',
    JWT_SECRET: 'one of which nothing repeats, 32 bytes or more',
    ADMIN_API_KEY: 'the-key-of-the-operator',
  }
  const warnings = (secrets: Partial<typeof given>) =>
    warningsOf(readConfig({ ...given, ...secrets }), 'ws://here').filter((line) =>
      /^(JWT_SECRET|ADMIN_API_KEY)/.test(line),
    )
  const line =
    'repeats a short pattern: it is easy to guess. Set one that `openssl rand -hex 32` made.'
  expect(warnings({})).toEqual([])
  expect(warnings({ JWT_SECRET: 'changeme'.repeat(4) })).toEqual([`JWT_SECRET ${line}`])
  expect(warnings({ JWT_SECRET: `${'changeme'.repeat(4)}chan` })).toEqual([`JWT_SECRET ${line}`])
  expect(warnings({ ADMIN_API_KEY: 'a'.repeat(16) })).toEqual([`ADMIN_API_KEY ${line}`])
  expect(warnings({ NODE_ENV: 'test', ADMIN_API_KEY: 'a'.repeat(16) })).toEqual([])
})

test('the log has the address of the embedded database without its password', () => {
  const socket = 'postgres://parley@%2Ftmp%2Fsocket:5432/parley'
  expect(withoutPassword(socket)).toBe(socket)
  expect(withoutPassword('postgres://parley:hunter2@127.0.0.1:5432/parley')).toBe(
    'postgres://parley@127.0.0.1:5432/parley',
  )
})
