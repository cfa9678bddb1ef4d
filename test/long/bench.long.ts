import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** What a benchmark prints as JSON. */
async function figuresOf(program: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', program, '--', '--smoke', '--json'],
    { cwd: new URL('../..', import.meta.url), timeout: 150_000 },
  )
  return JSON.parse(stdout)
}

type Figures = {
  rows: ({ target: string; failed: number } & Record<'perSecond' | 'statements', number>)[]
}

/** The rows that a benchmark answers; all of its requests have succeeded. */
async function rowsOf(program: string) {
  const { rows } = (await figuresOf(program)) as Figures
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
  // What counts statements and CPU is alive as well.
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
  const figures = (await figuresOf('bench:connect')) as Record<string, Record<string, number>>
  expect(Object.keys(figures)).toEqual(['parley', 'bare ws'])
  for (const row of Object.values(figures)) {
    expect(row.sockets).toBeGreaterThan(0)
    expect(row['node µs']).toBeGreaterThan(0)
  }
})

test('the benchmark of deliveries measures both loops, memory and latencies', async () => {
  const figures = (await figuresOf('bench:fanout')) as Record<string, Record<string, number>>
  expect(Object.keys(figures)).toEqual([
    'memory an idle, subscribed socket (KiB)',
    'deliveries/s to 20 sockets',
    'deliveries a second of the CPU that sends to 20 sockets',
    'send to event, 20 connected (ms)',
    'publish to deliver at 1,000/s × 20 (ms)',
  ])
  expect(figures['send to event, 20 connected (ms)']?.deliveries).toBe(1_000)
})

test('the benchmark of pushes measures a send without and with them', async () => {
  const figures = (await figuresOf('bench:push')) as Record<string, Record<string, number>>
  expect(figures).toEqual({
    'µs of CPU a send': {
      off: expect.any(Number),
      external: expect.any(Number),
      on: expect.any(Number),
    },
  })
})
