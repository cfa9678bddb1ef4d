import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

type Figures = {
  rows: ({ target: string; failed: number } & Record<'perSecond' | 'statements', number>)[]
}

test('the benchmark of sends measures every target, and no request fails', async () => {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', 'bench:send', '--', '--smoke', '--json'],
    { cwd: new URL('../..', import.meta.url), timeout: 150_000 },
  )
  const { rows } = JSON.parse(stdout) as Figures
  expect(rows.map(({ target, failed }) => [target, failed])).toEqual([
    ['bare', 0],
    ['insert', 0],
    ['bump', 0],
    ['parley, spread', 0],
    ['parley, hot', 0],
  ])
  for (const { perSecond } of rows) expect(perSecond).toBeGreaterThan(0)
  // What counts statements and CPU is alive as well.
  for (const { target, statements } of rows)
    if (target !== 'bare') expect(statements).toBeGreaterThan(0)
})
