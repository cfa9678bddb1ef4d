import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { chooseDataDir } from '@parley/server/db/embedded/data-dir'
import { lockDirectory } from '@parley/server/db/embedded/lock'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { bundled } from './support/start.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const directory = createDataFolder('check')
const other = createServer()
/** A port that another program listens on. */
let taken = ''

beforeAll(async () => {
  await once(other.listen(0, '127.0.0.1'), 'listening')
  taken = String((other.address() as AddressInfo).port) // it listens on TCP
})
afterAll(() => {
  other.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Runs a command in development: its exit code, and its lines. */
const parley = (command: string, variables: Record<string, string>) =>
  new Promise<{ code: unknown; lines: string[] }>((resolve) => {
    const common = { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', DATA_DIR: directory }
    const env = { ...common, DATABASE_WAIT_SECONDS: '0', ...variables }
    const options = { cwd: directory, env, timeout: 150_000 }
    execFile(process.execPath, bundled(command), options, (error, stdout, stderr) => {
      const code = error ? (error.code ?? error.signal) : 0
      resolve({ code, lines: (stdout + stderr).trimEnd().split('\n') })
    })
  })

type Case = [string, () => Record<string, string>, RegExp]

/** Root may write there as far as the system says, but no user can make a folder. */
const OF_SYSTEM = ['/proc/parley', '/sys/parley', '/sys'].map(
  (folder): Case => [
    `a data folder where the system makes none, ${folder}`,
    () => ({ DATABASE_URL: '', DATA_DIR: folder }),
    /^DATA_DIR: \S+ is not writable \(E\w+\)\. Set another folder$/,
  ],
)

/** Settings that make a start fail, and the line that both print. The database is the world's. */
const cases: Case[] = [
  ['a port in use', () => ({ PORT: taken }), /^PORT: another program listens on \d+\. Set .+$/],
  [
    'a port in use, with several processes',
    () => ({ PORT: taken, WORKERS: '2' }),
    /^PORT: another program listens on \d+\. Set .+$/,
  ],
  ['an address of others', () => ({ HOST: '192.0.2.1' }), /^HOST: 192\.0\.2\.1 is no address of/],
  ['a name without address', () => ({ HOST: 'nowhere.invalid' }), /^HOST: nowhere\.invalid is no /],
  ['an address that needs an interface', () => ({ HOST: 'fe80::1' }), /^HOST: fe80::1 is no addr/],
  [
    "the metrics' port in use",
    () => ({ METRICS_PORT: taken }),
    /^METRICS_PORT: another program listens on \d+\. Set .+$/,
  ],
  [
    "the metrics' address of others",
    () => ({ METRICS_PORT: '0', METRICS_HOST: '192.0.2.1' }),
    /^METRICS_HOST: 192\.0\.2\.1 is no address of this machine/,
  ],
  [
    'one port for both',
    () => ({ PORT: '5501', METRICS_PORT: '5501' }),
    /^METRICS_PORT: expected another port than PORT, 5501 given for both$/,
  ],
  [
    'a certificate that is not there',
    () => ({ DATABASE_URL: `${world().databaseUrl}?sslrootcert=/nope` }),
    /^The database .+: sslrootcert in DATABASE_URL: \/nope cannot be read \(ENOENT\)$/,
  ],
  [
    'a certificate that is none',
    () => ({ DATABASE_URL: `${world().databaseUrl}?sslrootcert=${import.meta.filename}` }),
    /^The database .+: sslrootcert in DATABASE_URL: \S+check\.test\.ts has no certificate$/,
  ],
  [
    'a mode of TLS that is none',
    () => ({ DATABASE_URL: `${world().databaseUrl}?sslmode=prefer` }),
    /^The database .+: sslmode in DATABASE_URL: expected one of disable, require, /,
  ],
  [
    'a database that is away',
    () => ({ DATABASE_URL: 'postgres://parley:hunter2@127.0.0.1:1/parley' }),
    /^The database cannot be used: connect ECONNREFUSED .+ Check the host and port in DATABASE/,
  ],
  [
    'a schema that is not there',
    () => ({ DATABASE_SCHEMA: 'nowhere' }),
    /^The database cannot be used: DATABASE_SCHEMA: the database \S+ has no schema nowhere /,
  ],
  ...(process.platform === 'linux' ? OF_SYSTEM : []),
  [
    'no place for secrets',
    () => ({ DATA_DIR: join(import.meta.filename, 'data') }),
    /^DATA_DIR: \S+ is not writable \(ENOTDIR\)\. Set another folder$/,
  ],
  [
    'a file in place of the data folder',
    () => ({ DATABASE_URL: '', DATA_DIR: import.meta.filename }),
    /^DATA_DIR: \S+check\.test\.ts is not writable \(ENOTDIR\)\. Set another folder$/,
  ],
  [
    'no place for the embedded database',
    () => ({ DATABASE_URL: '', DATA_DIR: join(import.meta.filename, 'data') }),
    /^DATA_DIR: \S+ is not writable \(ENOTDIR\)\. Set another folder$/,
  ],
]

test.each(cases)('parley check and a start both fail for %s, with one line', async (...given) => {
  const [, variables, line] = given
  const environment = { DATABASE_URL: world().databaseUrl, ...variables() }
  const checked = await parley('check', environment)
  expect(checked.lines.at(-1)).toMatch(line)
  expect(checked.code).toBe(1)
  const started = await parley('start', environment)
  expect(started.lines).toContain(checked.lines.at(-1))
  expect(started.code).toBe(1)
})

test('parley check fails as a start does where the embedded database is in use', async () => {
  const dataDir = join(directory, 'in-use')
  mkdirSync(dataDir)
  onTestFinished(lockDirectory(dataDir))
  const environment = { DATABASE_URL: '', DATA_DIR: dataDir }
  const checked = await parley('check', environment)
  const inUse = `DATA_DIR: ${dataDir} is in use by process ${process.pid}`
  expect(checked.lines.at(-1)).toBe(`${inUse}. End that one, or set another folder`)
  expect(checked.code).toBe(1)
  expect((await parley('start', environment)).lines).toEqual([checked.lines.at(-1)])
  // For a command, the hint names the database of that server, not another folder.
  const { lines } = await parley('new-epoch', environment)
  const hint = 'End that one, or set DATABASE_URL to the Database that it has printed'
  expect(lines).toEqual([`The event epoch was not changed: ${inUse}. ${hint}`])
})

test('a start does not make a database for a port that is in use', async () => {
  const dataDir = join(directory, 'port-in-use')
  const environment = { DATABASE_URL: '', DATA_DIR: dataDir, PORT: taken }
  const { code, lines } = await parley('start', environment)
  expect(lines.at(-1)).toMatch(/^PORT: another program listens on \d+\. Set .+$/)
  expect(code).toBe(1)
  expect(existsSync(dataDir)).toBe(false)
})

test('parley check refuses invalid secrets as a start does', async () => {
  const dataDir = join(directory, 'secrets')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'secrets.json'), '{}')
  const environment = { DATABASE_URL: world().databaseUrl, DATA_DIR: dataDir }
  const checked = await parley('check', environment)
  const line = `DATA_DIR: ${join(dataDir, 'secrets.json')} does not contain valid secrets`
  const advice = 'restore it, or delete all of DATA_DIR to start afresh'
  expect(checked.lines.at(-1)).toBe(`${line}: ${advice}`)
  expect(checked.code).toBe(1)
  expect((await parley('start', environment)).lines).toEqual([checked.lines.at(-1)])
})

test('parley check fails as a start does on an empty database that is not migrated', async () => {
  const environment = { DATABASE_URL: await createEmptyDatabase(), MIGRATE_ON_START: 'off' }
  const checked = await parley('check', environment)
  expect(checked.lines.at(-1)).toMatch(/^The database cannot be used: its schema lacks \d+ migra/)
  expect(checked.code).toBe(1)
  expect((await parley('start', environment)).lines).toEqual([checked.lines.at(-1)])
})

test('parley check says that a database is empty, in place of all migrations', async () => {
  const { code, lines } = await parley('check', { DATABASE_URL: await createEmptyDatabase() })
  expect(lines.at(-1)).toMatch(/^Schema: empty, lacks all \d\d+ migrations$/)
  expect(code).toBe(0)
})

test('parley check says at once all that would make a start fail', async () => {
  const { code, lines } = await parley('check', {
    DATABASE_URL: 'postgres://parley:hunter2@127.0.0.1:1/parley',
    HOST: '192.0.2.1',
    METRICS_PORT: taken,
  })
  expect(code).toBe(1)
  expect(lines.at(-1)).toMatch(/^The database .+; METRICS_PORT: another .+; HOST: 192\.0\.2\.1 is/)
})

test('parley check leaves everything as it was, and gives the ports back', async () => {
  const dataDir = join(directory, 'untouched')
  const free = createServer()
  await once(free.listen(0, '127.0.0.1'), 'listening')
  const { port } = free.address() as AddressInfo // it listens on TCP
  await new Promise((resolve) => free.close(resolve))
  const environment = {
    DATABASE_URL: world().databaseUrl,
    DATA_DIR: dataDir,
    PORT: String(port),
    METRICS_PORT: '0',
  }
  for (const _ of [1, 2]) expect(await parley('check', environment)).toMatchObject({ code: 0 })
  expect(() => rmSync(dataDir, { recursive: true })).toThrow('ENOENT')
})

test('check names the folder that a start as root takes instead of a closed one', async ({
  skip,
}) => {
  skip(process.getuid?.() !== 0, 'only root runs PostgreSQL as another user')
  const dataDir = join(directory, 'closed', 'data')
  mkdirSync(dirname(dataDir), { mode: 0o700 })
  const { lines } = await parley('check', { DATA_DIR: dataDir })
  expect(existsSync(dataDir)).toBe(false)
  const chosen = await chooseDataDir({ dataDir })
  onTestFinished(() => rmSync(chosen.dataDir, { recursive: true }))
  expect(chosen.dataDir).not.toBe(dataDir)
  expect(lines).toContainEqual(
    expect.stringMatching(
      `^Database: embedded, below ${chosen.dataDir} .+ is out of reach of user`,
    ),
  )
})
