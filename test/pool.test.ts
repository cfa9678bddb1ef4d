import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { isDatabaseUnavailable, isStatementTimeout } from '@parley/server/db/client'
import { createPool } from '@parley/server/db/pool'
import { createSlots } from '@parley/server/db/slots'
import { valueTypes } from '@parley/server/db/value-types'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { patient, unhurried } from './support/until.ts'

const never = new Promise<never>(() => {})

/** How PostgreSQL accepts a connection, and is ready for a query. */
const READY = Buffer.from('5200000008000000005a0000000549', 'hex')

/** Accepts connections, but answers no query: it closes the connection then. */
async function closingServer() {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(READY)
      socket.once('data', () => socket.destroy())
    })
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo // it listens on a port
  return `postgres://127.0.0.1:${port}/unused`
}

test('the slots of the pool are granted in the order of the callers', async () => {
  const { acquire, release, waiting } = createSlots(1)
  await acquire(never)
  const granted: string[] = []
  const callers = ['first', 'second', 'third'].map((name) =>
    acquire(never).then(() => granted.push(name)),
  )
  expect(waiting()).toBe(3)
  for (const _ of callers) release()
  await Promise.all(callers)
  expect(granted).toEqual(['first', 'second', 'third'])
})

test('a caller that gives up leaves its slot to the next one', async () => {
  const { acquire, release, waiting } = createSlots(1)
  await acquire(never)
  let giveUp = (_: Error) => {}
  const aborted = new Promise<never>((_, reject) => (giveUp = reject))
  const impatient = expect(acquire(aborted)).rejects.toThrow('too late')
  const next = acquire(never)
  giveUp(new Error('too late'))
  await impatient
  expect(waiting()).toBe(1)
  release()
  await next
})

test('a slot that is granted to a caller who gives up at that moment is not lost', async () => {
  const { acquire, release, waiting } = createSlots(1)
  await acquire(never)
  let giveUp = (_: Error) => {}
  const aborted = new Promise<never>((_, reject) => (giveUp = reject))
  const impatient = expect(acquire(aborted)).rejects.toThrow('too late')
  giveUp(new Error('too late'))
  release()
  await impatient
  void acquire(never)
  expect(waiting()).toBe(0)
})

test('the connection used last is used next, as its statements are prepared', async () => {
  const pool = createPool({
    url: inject('databaseUrl'),
    poolSize: 3,
    applicationName: 'parley-test',
    patience: unhurried,
  })
  onTestFinished(() => pool.end({ timeout: 1 }))
  const connection = () =>
    pool.use(async (db) => (await db`select pg_backend_pid() as pid`)[0]?.pid)
  const opened = await Promise.all([connection(), connection()])
  expect(new Set(opened).size).toBe(2)
  const used = [await connection(), await connection(), await connection()]
  expect(new Set(used).size).toBe(1)
})

test('a missed deadline counts as an outage, unless it was for long work', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const failed = vi.fn()
  const { use } = createPool({
    url: 'postgres://127.0.0.1:1/unused',
    poolSize: 2,
    applicationName: 'parley-test',
    patience: { callMs: 1_000, statementMs: 1_000 },
    outages: { worked: () => {}, failed },
  })
  const long = use(() => never, performance.now() + 60_000)
  const rejected = expect(long).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await vi.advanceTimersByTimeAsync(60_000)
  await rejected
  expect(failed).not.toHaveBeenCalled()
  const call = expect(use(() => never)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await vi.advanceTimersByTimeAsync(1_000)
  await call
  expect(failed).toHaveBeenCalledTimes(1)
})

test('a connection that failed, missed its deadline or was closed is not lent again', async () => {
  const { use, end } = createPool({
    url: await closingServer(),
    poolSize: 1,
    applicationName: 'parley-test',
    patience: { callMs: 60_000, statementMs: 60_000 },
  })
  onTestFinished(() => end({ timeout: 0 }))
  const lent = () => use(async (db) => db)
  const first = await lent()
  expect(first.options.connection.statement_timeout).toBe(60_000)
  expect(await lent()).toBe(first)
  await expect(use(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug')
  expect(await lent()).toBe(first)
  const lost = Object.assign(new Error('lost'), { code: 'ECONNRESET' })
  await expect(use(() => Promise.reject(lost))).rejects.toBe(lost)
  const second = await lent()
  expect(second).not.toBe(first)
  await expect(use(() => never, performance.now())).rejects.toThrow('in time')
  const third = await lent()
  expect(third).not.toBe(second)
  const cut = use((db) => {
    db`select 1`.catch(() => {})
    return never
  })
  await expect(cut).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(await lent()).not.toBe(third)
})

test('a missed deadline closes the idle connections that did not work since', async () => {
  const { use, end } = createPool({
    url: await closingServer(),
    poolSize: 4,
    applicationName: 'parley-test',
    patience: { callMs: 60_000, statementMs: 60_000 },
  })
  onTestFinished(() => end({ timeout: 0 }))
  const release: (() => void)[] = []
  const lend = () =>
    use((db) => new Promise<typeof db>((resolve) => release.push(() => resolve(db))))
  const before = [lend(), lend(), lend()]
  await vi.waitUntil(() => release.length === 3, patient)
  for (const each of release.splice(0)) each()
  const opened = await Promise.all(before)
  // One of them falls silent, while another one works.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const [working, silent] = [lend(), use(() => never, performance.now() + 500)]
  const missed = expect(silent).rejects.toThrow('in time')
  await vi.advanceTimersByTimeAsync(100)
  expect(release).toHaveLength(1)
  release.splice(0)[0]?.()
  const worked = await working
  await vi.advanceTimersByTimeAsync(400)
  await missed
  vi.useRealTimers()
  const after = [lend(), lend(), lend()]
  await vi.waitUntil(() => release.length === 3, patient)
  for (const each of release) each()
  const lent = await Promise.all(after)
  expect(lent.filter((connection) => opened.includes(connection))).toEqual([worked])
})

test('an error of the database means that it is unavailable, or that a query is wrong', () => {
  const withCode = (code: string) => Object.assign(new Error(code), { code })
  // biome-ignore format: a table of codes
  const unavailable = [
    'DEADLINE_EXCEEDED', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED',
    'CONNECT_TIMEOUT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH',
    'ENETUNREACH', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
    'EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENETDOWN',
    '08006', '53300', '57014', '57P01', '58030', '55P03', '40001', '40P01', '25006', '55000',
  ]
  for (const code of unavailable) expect(isDatabaseUnavailable(withCode(code)), code).toBe(true)
  for (const code of ['23505', '22P02', '42601', '55006', '40003', 'XX000', 'EACCES'])
    expect(isDatabaseUnavailable(withCode(code)), code).toBe(false)
  expect(isDatabaseUnavailable(new Error('a bug'))).toBe(false)
  expect(isDatabaseUnavailable('ECONNREFUSED')).toBe(false)
})

test('arrays keep quotes, backslashes, commas, braces, nulls and empty texts', () => {
  const { serialize, parse } = valueTypes.textArray
  const texts = ['a"b', 'a\\b', 'a,b', '{a}', '', ' ', 'NULL', null, 'é\n']
  expect(parse(serialize(texts))).toEqual(texts)
  expect(parse('{}')).toEqual([])
  expect(valueTypes.intArray.parse('{1,-2,NULL}')).toEqual([1, -2, null])
  expect(valueTypes.boolArray.parse('{t,f}')).toEqual([true, false])
})

test('times have three digits of a second, however many the database shows', () => {
  const digits = ['', '.1', '.12', '.123', '.123999'].map((fraction) =>
    valueTypes.date.parse(`2026-01-31 12:00:00${fraction}+00`).slice(19),
  )
  expect(digits).toEqual(['.000Z', '.100Z', '.120Z', '.123Z', '.123Z'])
})

test('work that got its connection late may be too slow, not its database silent', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const patience = { callMs: 4_500, statementMs: 4_000 }
  const url = 'postgres://127.0.0.1:1/unused'
  const pool = createPool({ url, poolSize: 1, applicationName: 'parley-test', patience })
  const failureOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error) => error)
  let finish = () => {}
  const first = pool.use(() => new Promise<void>((resolve) => (finish = resolve)))
  const late = failureOf(pool.use(() => never))
  await vi.advanceTimersByTimeAsync(600)
  finish()
  await first
  await vi.advanceTimersByTimeAsync(3_900)
  const alone = failureOf(pool.use(() => never))
  await vi.advanceTimersByTimeAsync(2_000)
  const unlent = failureOf(pool.use(() => never, performance.now() + 1_000))
  await vi.advanceTimersByTimeAsync(2_500)
  const failures = await Promise.all([late, alone, unlent])
  expect(failures.map(isDatabaseUnavailable)).toEqual([true, true, true])
  expect(failures.map(isStatementTimeout)).toEqual([true, false, false])
})

test('a statement that fails after its first rows does not damage the next answer', async () => {
  const { use, end } = createPool({
    url: inject('databaseUrl'),
    poolSize: 1,
    applicationName: 'parley-test',
    patience: unhurried,
  })
  onTestFinished(() => end({ timeout: 1 }))
  await use(async (db) => {
    const failing = () => db`select 1 / (3 - n) from generate_series(1, 5) n`
    const rows = () => db`select n from generate_series(1, 2) n`
    const [failed, together] = await Promise.allSettled([failing(), rows()])
    expect(failed).toMatchObject({ reason: { code: '22012' } })
    expect(together).toEqual({ status: 'fulfilled', value: [{ n: 1 }, { n: 2 }] })
    await expect(failing()).rejects.toMatchObject({ code: '22012' })
    expect(await db`select 1 where false`).toEqual([])
    await expect(failing()).rejects.toMatchObject({ code: '22012' })
    const later = await rows()
    expect([later.length, later.map(({ n }) => n)]).toEqual([2, [1, 2]])
  })
})
