import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

type Figures = {
  rows: ({ target: string; failed: number } & Record<'perSecond' | 'statements', number>)[]
}

/** The rows that a benchmark answers; all of its requests have succeeded. */
async function rowsOf(program: string) {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', program, '--', '--smoke', '--json'],
    { cwd: new URL('../..', import.meta.url), timeout: 150_000 },
  )
  const { rows } = JSON.parse(stdout) as Figures
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
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', 'bench:connect', '--', '--smoke', '--json'],
    { cwd: new URL('../..', import.meta.url), timeout: 150_000 },
  )
  const figures = JSON.parse(stdout) as Record<string, Record<string, number>>
  expect(Object.keys(figures)).toEqual(['parley', 'bare ws'])
  for (const row of Object.values(figures)) {
    expect(row.sockets).toBeGreaterThan(0)
    expect(row['node µs']).toBeGreaterThan(0)
  }
})
