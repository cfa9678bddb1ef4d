import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { createWorkerPool, tell } from '@parley/server/commands/worker-pool'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { until } from './support/until.ts'

/** The pool with processes that only listen, and end on order. */

const folder = createDataFolder('worker-pool')
const broken = join(folder, 'broken')
const ignoring = join(folder, 'ignoring')
const program = `
  import { existsSync } from 'node:fs'
  import { createServer } from 'node:net'
  if (existsSync(${JSON.stringify(broken)})) process.exit(1)
  process.on('message', () => existsSync(${JSON.stringify(ignoring)}) || process.exit())
  createServer().listen(0)`

beforeAll(() => {
  const exec = join(folder, 'worker.mjs')
  writeFileSync(exec, program)
  cluster.setupPrimary({ exec, execArgv: [], silent: true })
})
beforeEach(() => rmSync(broken, { force: true }))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Line = { message: string; at: number; pauseMs?: number }

async function startPool(count: number, { delayMs = 0 } = {}) {
  const lines: Line[] = []
  const say = (facts: object, message: string) =>
    void lines.push({ ...facts, message, at: performance.now() })
  const pool = createWorkerPool({
    ...{ count, databaseUrl: '', delayMs },
    log: { info: say, warn: say },
  })
  const forks: number[] = []
  /** How many processes listen, after each change. */
  const listening = [0]
  const change = (by: number) => void listening.push((listening.at(-1) ?? 0) + by)
  const ready = new Set<Worker>()
  const on = {
    fork: () => void forks.push(performance.now()),
    listening: (worker: Worker) => {
      ready.add(worker)
      change(1)
    },
    exit: (worker: Worker) => {
      if (ready.delete(worker)) change(-1)
    },
  }
  for (const [event, listener] of Object.entries(on)) cluster.on(event, listener)
  onTestFinished(async () => {
    await pool.stop()
    for (const [event, listener] of Object.entries(on)) cluster.off(event, listener)
  })
  await pool.start()
  const kill = async (worker = pool.all()[0]) => {
    if (!worker) throw new Error('no worker process is connected')
    const exited = once(worker, 'exit')
    worker.process.kill('SIGKILL')
    await exited
    return worker
  }
  const said = (message: string) => lines.filter((line) => line.message === message)
  const pids = () => pool.all().map(({ process }) => process.pid)
  return { pool, forks, listening, ready, lines, said, kill, pids }
}

const ENDED = 'worker process ended: starting another'
const FINISHED = 'rolling restart finished'
const GIVEN_UP = 'rolling restart given up: its successor did not listen'

test('a worker process that keeps ending is started again after growing pauses', async () => {
  const now = performance.now.bind(performance)
  let aheadMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
  onTestFinished(() => void vi.restoreAllMocks())
  const { kill, said, forks, ready } = await startPool(1)
  const crash = async () => {
    const count = forks.length
    await kill()
    await until(() => forks.length > count && ready.size === 1)
    const { at = 0, pauseMs = 0 } = said(ENDED).at(-1) ?? {}
    // Timers may be early by a millisecond.
    expect((forks.at(-1) ?? 0) - at).toBeGreaterThan(pauseMs - 2)
    return pauseMs
  }
  expect([await crash(), await crash()]).toEqual([250, 500])
  // It has lived for long.
  aheadMs = 10_001
  expect([await crash(), await crash()]).toEqual([0, 250])
})

/** From now on pauses are over at once. Returns how long they would have been. */
function skipPauses() {
  const pauses: number[] = []
  const { setTimeout: wait } = timers
  const spy = vi.spyOn(timers, 'setTimeout')
  spy.mockImplementation((ms = 0, ...rest) => {
    pauses.push(ms)
    return wait(0, ...rest)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
  return pauses
}

test('after an outage of any length a worker process is started within half a minute', async () => {
  const { kill, said } = await startPool(1)
  skipPauses()
  // Node.js ends at it, long before it would run a program.
  cluster.setupPrimary({ execArgv: ['--no-such-option'] })
  onTestFinished(() => cluster.setupPrimary({ execArgv: [] }))
  await kill()
  await until(() => said(ENDED).length >= 8)
  const pauses = said(ENDED).map(({ pauseMs }) => pauseMs)
  expect(pauses.slice(5, 8)).toEqual([8_000, 16_000, 30_000])
})

test('a worker process is killed if it has not ended 20 s after its delay', async () => {
  writeFileSync(ignoring, '')
  onTestFinished(() => rmSync(ignoring))
  const { pool, ready } = await startPool(1, { delayMs: 20_000 })
  const pauses = skipPauses()
  await pool.stop()
  await until(() => ready.size === 0)
  expect(pauses).toContain(40_000)
})

test('messages to a worker process that has ended are dropped without an error', async () => {
  const { pool, kill } = await startPool(1)
  const worker = await kill()
  expect(pool.all()).toEqual([])
  tell(worker, { order: 'stop' })
  // A write to its closed pipe emits this error.
  worker.process.emit('error', new Error('write EPIPE'))
  await until(() => pool.all().length === 1)
})

test('a rolling restart replaces each process once, and never has fewer or many more', async () => {
  const { pool, forks, listening, said, ready, pids } = await startPool(2)
  const before = pids()
  const start = listening.length
  pool.roll()
  await until(() => said(FINISHED).length === 1)
  await until(() => ready.size === 2)
  expect(forks).toHaveLength(4)
  expect(pids().filter((pid) => before.includes(pid))).toEqual([])
  const during = listening.slice(start)
  expect([Math.min(...during), Math.max(...during)]).toEqual([2, 3])
})

test('restarts that are asked for during a rolling restart are one more, after it', async () => {
  const { pool, forks, listening, said } = await startPool(1)
  pool.roll()
  await until(() => forks.length === 2)
  for (let asked = 0; asked < 3; asked++) pool.roll()
  await until(() => said(FINISHED).length === 2)
  expect(forks).toHaveLength(3)
  expect(Math.max(...listening)).toBe(2)
})

test('a worker process whose successor does not listen goes on', async () => {
  const { pool, said, pids } = await startPool(2)
  const before = pids()
  writeFileSync(broken, '')
  pool.roll()
  await until(() => said(GIVEN_UP).length === 1)
  expect(pids()).toEqual(before)
  rmSync(broken)
  pool.roll()
  await until(() => said(FINISHED).length === 1)
  expect(pids().filter((pid) => before.includes(pid))).toEqual([])
})

test('a stop ends all worker processes, and replaces none that has crashed', async () => {
  const { pool, forks, said, kill, ready } = await startPool(2)
  await kill()
  await until(() => said(ENDED).length === 1)
  await pool.stop()
  await until(() => ready.size === 0)
  const count = forks.length
  const stoppedAt = performance.now()
  await until(() => performance.now() - stoppedAt > 300)
  expect(forks).toHaveLength(count)
})
