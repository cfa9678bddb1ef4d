import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, recordedPostmaster } from '@parley/server/db/embedded/process'
import postgres from 'postgres'
import { expect, test, vi } from 'vitest'
import { isRoot, query, serverOf, settings, useLauncher } from '../support/embedded.ts'
import { bundled, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'

const { used, dataDirectory, start, program, orphan, endAfterTest } = useLauncher()
const children = useChildren()

test('a first start answers queries, and ILIKE treats É and é as equal', async () => {
  const database = await start(used)
  expect(await query(database, `select current_database() as name, 'É' ilike 'é' as same`)).toEqual(
    [{ name: 'parley', same: true }],
  )
})

test.runIf(process.platform === 'linux')(
  'the database server inherits no environment variable of ours but PATH',
  async () => {
    await start(used)
    const variables = readFileSync(`/proc/${serverOf(used)}/environ`, 'utf8').split('\0')
    const names = new Set(variables.map((variable) => variable.split('=')[0] ?? ''))
    for (const name of Object.keys(process.env).filter((name) => name !== 'PATH'))
      expect(['LC_ALL', 'TZ', 'PGDATA']).toEqual(
        expect.arrayContaining(names.has(name) ? [name] : []),
      )
  },
)

test.runIf(isRoot)('files that root has restored belong to the server again', async () => {
  await (await start(used)).stop()
  const directory = join(used, 'postgres')
  const { uid } = statSync(directory)
  execFileSync('chown', ['-R', '0:0', directory])
  expect(await query(await start(used), 'select 1 as one')).toEqual([{ one: 1 }])
  expect(statSync(join(directory, 'PG_VERSION')).uid).toBe(uid)
})

test('a second start finds the data and takes less than three seconds', async () => {
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

test('after stop() no server runs and no lock is left, however often it is called', async () => {
  const database = await start(used)
  const server = serverOf(used)
  await Promise.all([database.stop(), database.stop()])
  expect(isAlive(server)).toBe(false)
  expect(existsSync(database.host)).toBe(false)
  expect(readdirSync(used).sort()).toEqual(['postgres', 'postgres.log'])
})

test('a stop() called once more takes nothing from the server of the next start', async () => {
  const first = await start(used)
  await first.stop()
  const second = await start(used)
  await first.stop()
  expect(await query(second, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(existsSync(join(used, 'parley.lock'))).toBe(true)
})

test('a process that ends without stop() leaves neither a server nor a lock behind', async () => {
  const owner = await program(used)
  const { host } = await owner.start()
  const server = serverOf(used)
  await owner.end()
  await vi.waitUntil(() => !isAlive(server), patient)
  expect(existsSync(join(used, 'parley.lock'))).toBe(false)
  expect(existsSync(host)).toBe(false)
})

test('a start waits for a previous server that is still stopping', async () => {
  const owner = await program(used)
  await owner.start()
  await owner.end()
  expect(await query(await start(used), 'select 1 as one')).toEqual([{ one: 1 }])
})

test('Ctrl-C in the terminal reaches the program, not its database server', async () => {
  const owner = await program(used)
  const database = await owner.start()
  process.kill(-owner.pid, 'SIGINT')
  expect(await owner.nextLine()).toBe('interrupted')
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s during a command leaves neither a server nor a lock behind',
  async (signal) => {
    const command = children.start({ DATA_DIR: used }, used, bundled('app:import', '-'))
    const server = await vi.waitUntil(() => {
      const recorded = recordedPostmaster(join(used, 'postgres'))
      return recorded?.status === 'ready' && recorded.pid
    }, patient)
    endAfterTest(() => isAlive(server) && process.kill(server, 'SIGQUIT'))
    command.kill(signal)
    const code = await command.code
    expect(existsSync(join(used, 'parley.lock'))).toBe(false)
    await vi.waitUntil(() => !isAlive(server), patient)
    expect(code).toBe(1)
  },
)

test('a start on a directory in use fails and names the process that uses it', async () => {
  const database = await start(used)
  const refusal = `DATA_DIR: ${used} is in use by process ${process.pid}`
  await expect(start(used)).rejects.toThrow(refusal)
  await expect((await program(used)).start()).rejects.toThrow(refusal)
  expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('exactly one of several starts that find the lock of a dead process succeeds', async () => {
  const rivals = await Promise.all([1, 2, 3, 4].map(() => program(used)))
  const dead = spawn('true')
  await once(dead, 'exit')
  writeFileSync(join(used, 'parley.lock'), `${dead.pid} \n`)
  const results = await Promise.allSettled(rivals.map((rival) => rival.start()))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test.runIf(process.platform === 'linux')(
  'a lock is void when another process has got the pid of its owner',
  async () => {
    writeFileSync(join(used, 'parley.lock'), `${process.pid} another-boot/1\n`)
    await start(used)
  },
)

test('a server whose owner was killed is adopted by the next start', async () => {
  const server = await orphan('create table adopted as select 1 as one')
  const database = await start(used)
  expect(serverOf(used)).toBe(server)
  expect(await query(database, 'select one from adopted')).toEqual([{ one: 1 }])
  await database.stop()
  expect(isAlive(server)).toBe(false)
})

test('an orphaned server with other settings is replaced, not adopted', async () => {
  const server = await orphan('create table replaced as select 1 as one')
  const database = await start(used, { ...settings, fsync: 'on' })
  expect(isAlive(server)).toBe(false)
  expect(
    await query(database, `select one, current_setting('fsync') as fsync from replaced`),
  ).toEqual([{ one: 1, fsync: 'on' }])
})

test('a start succeeds after a killed server whose pid was reused', async () => {
  const server = await orphan('create table survived as select 1 as one')
  process.kill(server, 'SIGKILL')
  const { uid, gid } = statSync(join(used, 'postgres'))
  const bystander = spawn('sleep', ['60'], { uid, gid })
  endAfterTest(() => bystander.kill())
  const record = join(used, 'postgres', 'postmaster.pid')
  writeFileSync(record, readFileSync(record, 'utf8').replace(String(server), String(bystander.pid)))
  const database = await start(used)
  expect(await query(database, 'select one from survived')).toEqual([{ one: 1 }])
  await database.stop()
  expect(bystander.signalCode).toBeNull()
})

test('a start succeeds after a first start that was killed half-way', async () => {
  const dataDir = dataDirectory()
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

test('a failed start reports its reason and releases the directory', async () => {
  await expect(start(used, { shared_buffers: 'plenty' })).rejects.toThrow(
    'invalid value for parameter "shared_buffers"',
  )
  await start(used)
})

test('a log of more than 10 MB is truncated on start', async () => {
  const log = join(used, 'postgres.log')
  writeFileSync(log, Buffer.alloc(11 * 1024 * 1024))
  await start(used)
  expect(statSync(log).size).toBeLessThan(1024 * 1024)
})

test('the URL leads to the database, with the host given to Postgres.js beside it', async () => {
  const { url, host } = await start(used)
  expect(decodeURIComponent(new URL(url).hostname)).toBe(host)
  const client = postgres(url, { host, max: 1 })
  expect(await client`select current_user as name`).toEqual([{ name: 'parley' }])
  await client.end()
})
