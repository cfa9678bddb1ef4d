import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { hasRedis } from '../support/redis.ts'
import { bundled } from '../support/start.ts'

/** The figures that a benchmark prints as JSON. */
async function figuresOf(program: string, ...options: string[]): Promise<unknown> {
  const [server] = bundled()
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', program, '--', '--smoke', '--json', ...options],
    {
      cwd: new URL('../..', import.meta.url),
      timeout: 280_000,
      env: { ...process.env, BENCH_PROGRAM: server },
    },
  )
  return JSON.parse(stdout)
}

type Table = Record<string, Record<string, number>>
type RoomsRow = { what: string; small: number; large: number }
type Figures = {
  rows: ({ target: string; failed: number; workers: number } & Record<
    'perSecond' | 'statements',
    number
  >)[]
}

/** The rows that a benchmark answers; all of its requests have succeeded. */
async function rowsOf(program: string, ...options: string[]) {
  const { rows } = (await figuresOf(program, ...options)) as Figures
  for (const { target, failed, perSecond } of rows) {
    expect([target, failed]).toEqual([target, 0])
    expect(perSecond).toBeGreaterThan(0)
  }
  return rows
}

test('the benchmark of sends measures every target, and no request fails', async () => {
  const rows = await rowsOf('bench:send')
  expect(rows.map(({ target }) => target)).toEqual([
    'bare',
    'insert',
    'bump',
    'parley, spread',
    'parley, hot',
  ])
  // The counter of statements and CPU is alive as well.
  for (const { target, statements } of rows)
    if (target !== 'bare') expect(statements).toBeGreaterThan(0)
})

test('the benchmark of reads measures every target, and no request fails', async () => {
  const rows = await rowsOf('bench:read')
  expect(rows.map(({ target }) => target)).toEqual([
    'bare',
    'parley, edge',
    'minimal list',
    'parley, list',
    'minimal channels',
    'parley, channels',
    'minimal mark',
    'parley, mark',
  ])
})

test('the benchmark of connections opens, holds and cuts the sockets of both servers', async () => {
  const figures = (await figuresOf('bench:connect')) as Table
  expect(Object.keys(figures)).toEqual(['parley', 'bare ws'])
  for (const row of Object.values(figures)) {
    expect(row.sockets).toBeGreaterThan(0)
    expect(row['node µs']).toBeGreaterThan(0)
  }
  expect(Number(figures.parley?.['storm statements a socket'])).toBeGreaterThan(0)
})

test('the benchmark of deliveries measures both loops, memory and latencies', async () => {
  const figures = (await figuresOf('bench:fanout')) as Table
  expect(Object.keys(figures)).toEqual([
    'memory an idle, subscribed socket (KiB)',
    'deliveries/s to 20 sockets',
    'deliveries a second of the CPU that sends to 20 sockets',
    'send to event, 20 connected (ms)',
    'publish to deliver at 1,000/s × 20 (ms)',
  ])
  expect(figures['send to event, 20 connected (ms)']?.deliveries).toBe(1_000)
})

test('the benchmarks of sends and deliveries measure a server with worker processes', async () => {
  const rows = await rowsOf('bench:send', '--workers', '1,2', '--only', 'spread')
  expect(rows.map(({ workers }) => workers)).toEqual([1, 2])
  const figures = (await figuresOf('bench:fanout', '--workers', '1,2')) as Table
  expect(Object.keys(figures)).toEqual(['20 sockets, 1 process', '20 sockets, 2 processes'])
  for (const row of Object.values(figures)) expect(row['deliveries/s']).toBeGreaterThan(0)
})

test('the benchmark of several nodes kills one of them, and no event is lost', async () => {
  const { machine, ...figures } = (await figuresOf('bench:cluster', '--redis')) as Table
  const names = ['1 node, NOTIFY', '2 nodes, NOTIFY']
  const withRedis = hasRedis ? ['1 node, Redis', '2 nodes, Redis'] : []
  expect(Object.keys(figures)).toEqual([...names, ...withRedis])
  for (const [name, row] of Object.entries(figures)) {
    expect(Number(row['nodes µs an event'])).toBeGreaterThan(0)
    for (const figure of ['statements a message', 'of one node, beyond idle'])
      expect(Number(row[figure])).not.toBeNaN()
    if (name.startsWith('2')) expect(row).toMatchObject({ cut: 10, 'lost, busy': 0 })
  }
  expect(machine?.cores).toBeGreaterThan(0)
})

test('the benchmark of pushes measures a send without and with them', async () => {
  const figures = (await figuresOf('bench:push')) as Table
  expect(figures).toEqual({
    'µs of CPU a send': {
      off: expect.any(Number),
      external: expect.any(Number),
      on: expect.any(Number),
    },
  })
})

test('the benchmark of rooms measures events, pages and sends at both sizes', async () => {
  const { rows } = (await figuresOf('bench:rooms')) as { rows: RoomsRow[] }
  expect(rows.map(({ what }) => what)).toEqual([
    'new message',
    'edit in the middle',
    'reaction',
    'deletion',
    'page',
    'send, shown',
    'send, stored',
  ])
  for (const { small, large } of rows) expect(Math.min(small, large)).toBeGreaterThan(0)
})
