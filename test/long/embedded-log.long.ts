import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { query, settings, useLauncher } from '../support/embedded.ts'
import { until } from '../support/until.ts'

const { used, start } = useLauncher()
const log = join(used, 'postgres.log')
const listeners = { onNotice: () => {}, onLost: () => {} }

test('the log of a database that runs has its last lines, and no more than 10 MB', async () => {
  const database = await start(used, settings, listeners)
  await query(
    database,
    `set client_min_messages = error;
    do $$ begin
      for number in 1..300 loop
        raise warning 'line % %', number, repeat('x', 60000);
      end loop;
    end $$`,
  )
  await until(() => statSync(log).size < 10 * 2 ** 20)
  expect(readFileSync(log, 'utf8')).toContain('WARNING:  line 300 x')
  await expect(query(database, 'select what_follows')).rejects.toThrow('does not exist')
  await until(() => readFileSync(log, 'utf8').endsWith('STATEMENT:  select what_follows\n'))
  expect(readFileSync(log).includes(0)).toBe(false)
  expect(statSync(log).size).toBeLessThan(10 * 2 ** 20)
})
