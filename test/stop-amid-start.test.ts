import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectOnce } from '@parley/server/db/client'
import { inSchema, locks } from '@parley/server/db/locks'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { createDataFolder } from './support/folders.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { bundled, production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'

const directory = createDataFolder('stop-amid-start')
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

type Server = ReturnType<typeof children.start>

/** Code that the server, and each of its worker processes, runs before everything else. */
const before = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
})

/** The server ended as after any other stop, and its last output is a line of the log. */
async function expectStopped(server: Server) {
  expect(await server.code, server.output()).toBe(0)
  expect(server.output()).not.toContain('not stopped within')
  const last = server.output().trim().split('\n').at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ level: 'info', msg: 'stopped', ms: expect.any(Number) })
}

const connect = (url: string) => {
  const sql = connectOnce(url)
  onTestFinished(() => sql.end())
  return sql
}

test.each([
  ['SIGTERM', 'start'],
  ['SIGTERM', 'worker'],
  ['SIGINT', 'start'],
  ['SIGHUP', ''],
] as const)(
  'a stop by %s while parley %s is loaded ends it before it has started',
  async (signal, command) => {
    const given = command === '' ? [] : [command]
    // From here on Node.js no longer ends it by the signal.
    const code = `
      let sent = false
      process.on('newListener', (name) => {
        if (name !== '${signal}' || sent) return
        sent = true
        process.kill(process.pid, name)
      })`
    // With this, a start would fail once it has locked the folder.
    const dataDir = join(directory, `unused-${signal}`)
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(join(dataDir, 'postgres'), '')
    const embedded = { EMBEDDED_DATABASE: 'yes', DATA_DIR: dataDir }
    const variables = { ...production, ...embedded, ...before(code) }
    await expectStopped(children.start(variables, directory, bundled(...given)))
    expect(readdirSync(dataDir)).toEqual(['postgres'])
  },
)

test('a stop while each of the worker processes is loaded leaves nothing behind', async () => {
  const url = await createEmptyDatabase()
  for (const number of [1, 2, 3]) {
    const code = `
      if (process.env.PARLEY_WORKER?.includes('"number":${number},'))
        process.kill(process.ppid, 'SIGTERM')`
    const variables = { ...production, ...before(code), DATABASE_URL: url, WORKERS: '3' }
    await expectStopped(children.start(variables, directory))
    const left = await connect(url)`
      select application_name
      from pg_stat_activity
      where datname = current_database()
        and application_name like 'parley%'`
    expect([...left]).toEqual([])
    expect(await parleyOn(url, 'new-epoch')).toMatchObject({ code: 0 })
  }
})

test('a stop while a server waits for the migration of another ends it at once', async () => {
  const url = await createEmptyDatabase()
  const other = connect(url)
  await other`select pg_advisory_lock(${locks.migration}, ${inSchema(other)})`
  const server = children.start({ ...production, DATABASE_URL: url, WORKERS: '2' }, directory)
  await until(() => server.output().includes('another process migrates this database'))
  server.kill('SIGTERM')
  await expectStopped(server)
})

test('a stop while the embedded database is made waits for its programs', async () => {
  const dataDir = join(directory, 'embedded')
  const variables = { ...production, EMBEDDED_DATABASE: 'yes', DATA_DIR: dataDir, WORKERS: '2' }
  const server = children.start(variables, directory)
  const made = () =>
    existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith('postgres.new-'))
  await until(made)
  server.kill('SIGTERM')
  await expectStopped(server)
  expect(made()).toBe(false)
})
