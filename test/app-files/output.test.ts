import { writeFileSync } from 'node:fs'
import type { Tx } from '@parley/server/db/client'
import { FILE_CONNECTION } from '@parley/server/db/stuck-sessions'
import { expect, test } from 'vitest'
import { whileRowLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'
import { parleyOn, useFolder } from './command.ts'

const world = useWorld()
const folder = useFolder()

/** Exports a new app, and runs `work` while the command waits for this table. */
async function exportWhile(table: string, work: (appId: string) => unknown) {
  const { operator, databaseUrl } = world()
  const { id: appId } = await operator.apps.create({ name: 'Moving out' })
  const file = folder.path(table)
  const lock = (sql: Tx) => sql`lock table ${sql(table)} in access exclusive mode`
  const { exported } = await whileRowLocked(world(), lock, async () => {
    const exported = parleyOn(databaseUrl, 'app:export', appId, file)
    await expect.poll(waiting).toHaveLength(1)
    await work(appId)
    return { exported }
  })
  return await exported
}

const waiting = () => world().db`
  select
  from pg_stat_activity
  where application_name = ${FILE_CONNECTION}
    and datname = current_database()
    and wait_event_type = 'Lock'`

test('an export gets its name once it is whole, so no part is taken for it', async () => {
  const { code, output } = await exportWhile('pins', () => {
    expect(folder.names('pins')).toEqual([expect.stringMatching(/^pins\.\w+\.part$/)])
  })
  expect(code, output).toBe(0)
  expect(folder.names('pins')).toEqual(['pins'])
  expect(folder.read('pins')).toMatch(/\{"end":.*\n$/)
})

test('an app that is deleted while its export begins is not exported', async () => {
  const { code, output } = await exportWhile('audit', async (appId) => {
    await world().db`update apps set deleted_at = now() where id = ${appId}`
  })
  expect({ code, output }).toEqual({ code: 1, output: 'There is no app with this id' })
  expect(folder.names('audit')).toEqual([])
})

test('a file that gets the name of an export while it runs is not overwritten', async () => {
  const { code, output } = await exportWhile('devices', () => {
    writeFileSync(folder.path('devices'), 'of another program')
  })
  expect(code).toBe(1)
  expect(output).toMatch(/^\S+devices exists: name another file, or delete it first$/)
  expect(folder.names('devices')).toEqual(['devices'])
  expect(folder.read('devices')).toBe('of another program')
})
