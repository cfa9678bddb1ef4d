import { isDatabaseUnavailable } from '@parley/server/db/client'
import { createPool } from '@parley/server/db/pool'
import { createSlots } from '@parley/server/db/slots'
import { valueTypes } from '@parley/server/db/value-types'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { unhurried } from './support/until.ts'

const never = new Promise<never>(() => {})

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
  const patient = acquire(never)
  giveUp(new Error('too late'))
  await impatient
  expect(waiting()).toBe(1)
  release()
  await patient
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

test('a deadline that is missed tells of an outage, unless it was for long work', async () => {
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

test('an error of the database means that it is unavailable, or that a query is wrong', () => {
  const withCode = (code: string) => Object.assign(new Error(code), { code })
  // biome-ignore format: a table of codes
  const unavailable = [
    'DEADLINE_EXCEEDED', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED',
    'CONNECT_TIMEOUT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH',
    'ENETUNREACH', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN',
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
