import { execFileSync } from 'node:child_process'
import { errorMessage } from '@parley/server/process/lifecycle'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** A value of a row, which PostgreSQL quotes in the message. */
const VALUE = 'quokka@example.com'

/** The output of a program that has captured its console and logs such an error. */
const written = (given: string) =>
  execFileSync(
    process.execPath,
    [
      ...['--conditions=parley-source', '--import', 'tsx', '--input-type=module', '-e'],
      `import { captureConsole } from './server/process/process-log.ts'
      captureConsole('info', () => 'error')
      const message = 'invalid input syntax for type uuid: "${VALUE}"'
      const fields = { code: '22P02', severity: 'ERROR', routine: 'string_to_uuid' }
      const error = Object.assign(new Error(message), fields)
      ${given}`,
    ],
    { cwd: root, encoding: 'utf8' },
  )

test('the last line of a process quotes no value of a row', async () => {
  const error = await world().db`select ${VALUE}::text::uuid`.catch((reason: unknown) => reason)
  expect(String(error)).toContain(VALUE)
  expect(errorMessage(error)).toBe('PostgreSQL error 22P02')
  expect(errorMessage(new Error('start failed', { cause: error }))).toBe('PostgreSQL error 22P02')
})

test.each([
  'console.error(error)',
  'console.error("a library failed:", error)',
  'console.warn("%s: %s", "failed", error)',
  'process.emitWarning(error)',
])('the captured line of %s quotes no value of a row', (given) => {
  const output = written(given)
  expect(output).toContain('PostgreSQL error 22P02')
  expect(output).not.toContain(VALUE)
})
