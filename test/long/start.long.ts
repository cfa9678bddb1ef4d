import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { prepareDatabase } from '@parley/server/commands/open'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { createDataFolder } from '../support/folders.ts'
import { post } from '../support/raw.ts'
import { production, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const directory = createDataFolder('start-long')
const world = useWorld()
const children = useChildren()

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const start = (variables: Record<string, string>, cwd = directory) => children.start(variables, cwd)

/** No user, not even root, can create folders below /proc. */
const NO_FOLDERS: [Record<string, string>, RegExp] = [
  { DATA_DIR: '/proc/parley' },
  /^DATA_DIR: \/proc\/parley is not writable \(E\w+\)\. Set another folder\n$/,
]

test('a failed start prints one line with the reason and exits with 1', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  const { port } = (await vi.waitFor(
    () => taken.address() ?? Promise.reject(new Error('not yet')),
    patient,
  )) as AddressInfo
  const waiting = 'Warning: waiting up to 3 s for the database: .*'
  const refusal =
    'The database cannot be used: connect ECONNREFUSED \\S+:1. ' +
    'Check the host and port in DATABASE_URL'
  const bad: [Record<string, string>, RegExp][] = [
    [
      { PORT: 'x', DATA_DIR: directory },
      /^PORT: expected a whole number from 0 to 65535, not "x"\n$/,
    ],
    [
      {
        ...production,
        DATABASE_URL: 'postgres://parley:hunter2@localhost:1/parley',
        DATABASE_WAIT_SECONDS: '3',
      },
      new RegExp(`^${waiting}\n${refusal}\n$`),
    ],
    [
      { ...production, DATABASE_URL: world().databaseUrl, PORT: String(port) },
      /^PORT: another program listens on \d+\. Set a free one, or 0 for any \(EADDRINUSE\)\n$/,
    ],
    // It says "Server listening" only once everything listens.
    [
      { ...production, DATABASE_URL: world().databaseUrl, METRICS_PORT: String(port) },
      /^METRICS_PORT: another program listens on \d+\. Set a free one, or 0 .+\(EADDRINUSE\)\n$/,
    ],
    [
      { ...production, DATABASE_URL: world().databaseUrl, HOST: 'nowhere.invalid' },
      /^HOST: nowhere\.invalid is no address of this machine \((ENOTFOUND|EAI_AGAIN)\)\n$/,
    ],
    // No user can make a folder below a file.
    [
      { DATA_DIR: join(import.meta.filename, 'data') },
      /^DATA_DIR: \S+\/data is not writable \(ENOTDIR\)\. Set another folder\n$/,
    ],
    // Node.js would try it for ever.
    ...(process.platform === 'linux' ? [NO_FOLDERS] : []),
    [
      { ...production, DATABASE_URL: `${world().databaseUrl}?sslmode=prefer` },
      /^The database cannot be used: sslmode in DATABASE_URL: expected one of disable, .*\n$/,
    ],
  ]
  const starts = bad.map(([variables]) => start(variables))
  expect(await Promise.all(starts.map(({ code }) => code))).toEqual(bad.map(() => 1))
  for (const [index, [, line]] of bad.entries()) expect(starts[index]?.said()).toMatch(line)
  taken.close()
})

test('ALLOWED_ORIGINS takes effect with the next start', async () => {
  const cwd = join(directory, 'origins')
  mkdirSync(cwd)
  const allow = (origin: string) => writeFileSync(join(cwd, '.env'), `ALLOWED_ORIGINS=${origin}\n`)
  const [before, after] = ['https://before.example.com', 'https://after.example.com']
  const allowedBy = async (url: string) => {
    const answers = await Promise.all(
      [before, after].map((Origin) =>
        post(url, '/health/live', { method: 'GET', headers: { Origin } }),
      ),
    )
    return answers.map(({ headers }) => headers['access-control-allow-origin'])
  }
  allow(before)
  const first = start({ ...production, DATABASE_URL: world().databaseUrl }, cwd)
  const url = await first.url()
  allow(after)
  expect(await allowedBy(url)).toEqual([before, undefined])
  first.kill('SIGTERM')
  expect(await first.code).toBe(0)
  expect(
    await allowedBy(await start({ ...production, DATABASE_URL: world().databaseUrl }, cwd).url()),
  ).toEqual([undefined, after])
})

test('a start repeats each step that fails because its connection was closed', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  onTestFinished(() => proxy.stop())
  const sizes = { workers: 1, poolSize: 1, jobs: 'on' } as const
  const config = { ...sizes, migrateOnStart: true, waitSeconds: 120 }
  let closed = 0
  do {
    closed += 1
    proxy.refuse(closed)
    await prepareDatabase(proxy.url, config)
  } while (proxy.lostCount() === closed)
  // To look for a pooler, to migrate, for the queue, to grant, and for warnings.
  expect(closed).toBeGreaterThan(6)
})
