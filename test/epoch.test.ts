import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { root } from './support/consumer.ts'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'
import { bundled } from './support/start.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

const run = (command: string, args: string[], databaseUrl: string) =>
  promisify(execFile)(command, args, {
    cwd: root,
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
  })
const epochs = () => world().db<{ value: string }[]>`
  select value
  from service
  where key = 'epoch'`

test('every new epoch differs from the ones before', async () => {
  const seen = [(await epochs())[0]?.value]
  for (const _ of [1, 2]) {
    const args = bundled('new-epoch', '--force')
    const { stdout } = await run(process.execPath, args, world().databaseUrl)
    const [epoch, ...others] = await epochs()
    expect(stdout).toBe(`New event epoch: ${epoch?.value}\n`)
    expect(others).toEqual([])
    seen.push(epoch?.value)
  }
  expect(new Set(seen).size).toBe(3)
  const { entries } = await world().operator.audit.list({ operation: 'parley.new-epoch' })
  expect(entries.map(({ target }) => target)).toEqual(
    seen
      .slice(1)
      .map((epoch) => ({ epoch, isForced: true }))
      .reverse(),
  )
})

test('a new epoch is refused while a server runs on the database', async () => {
  const before = await epochs()
  expect(await parleyOn(world().databaseUrl, 'new-epoch')).toEqual({
    code: 1,
    output: expect.stringMatching(
      /^The event epoch was not changed: \d+ servers? runs? on this database.* --force [^\n]*$/,
    ),
  })
  expect(await epochs()).toEqual(before)
})

test('parley new-epoch without tables fails with an error that says what to do', async () => {
  expect(await parleyOn(await createEmptyDatabase(), 'new-epoch')).toEqual({
    code: 1,
    output:
      'The event epoch was not changed: the database has no tables of Parley. ' +
      'Restore the backup first, or correct DATABASE_URL',
  })
})

test('a backup of an older version gets a new epoch, unless servers seem to run', async () => {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0037_replies')
  expect(await parleyOn(url, 'new-epoch')).toMatchObject({ code: 0 })
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  await sql`insert into nodes (id) values ('killed')`
  expect(await parleyOn(url, 'new-epoch')).toMatchObject({
    code: 1,
    output: expect.stringContaining('1 server runs on this database, unless killed within '),
  })
})

test('parley new-epoch reports an unreachable database in one line', async () => {
  const unreachable = 'postgres://parley:hunter2@localhost:1/parley'
  await expect(run(process.execPath, bundled('new-epoch'), unreachable)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The event epoch was not changed: .*ECONNREFUSED[^\n]*\n$/),
  })
})
