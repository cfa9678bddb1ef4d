import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { goodHistory } from './example.ts'
import { figuresOf } from './figures.ts'
import { type Line, linesIn, tableOf } from './table.ts'

const line = (scenario: string, change: Partial<Line>): Line => ({
  ...figuresOf(goodHistory()),
  scenario,
  seed: 1,
  seconds: 10,
  settleMs: 500,
  violations: {},
  ...change,
})

test('the runs of the fault rig add up, by scenario and in all', () => {
  const lines = [
    line('kill', { acknowledged: 600, faults: 3, faultsByName: { 'kill -9': 2, SIGSTOP: 1 } }),
    line('calm', { longestCallMs: 250, longestReturnMs: 0 }),
    line('kill', {
      acknowledged: 500,
      faults: 1,
      faultsByName: { 'worker kill -9 at a push': 1 },
      longestCallMs: 4_460,
      violations: { noneDied: ['node 1 ended', 'node 2 ended'] },
    }),
  ]
  const [, , ...rows] = tableOf(lines).split('\n')
  expect(rows).toEqual([
    '| `kill` | 2 | 20 | 4 | 3 | 1,100 | 12 | 6 | 0 | 0 | 4.5 s | 0.3 s | 2 |',
    '| `calm` | 1 | 10 | 0 | 0 | 3 | 6 | 3 | 0 | 0 | 0.3 s | – | 0 |',
    '| all | 3 | 30 | 4 | 3 | 1,103 | 18 | 9 | 0 | 0 | 4.5 s | 0.3 s | 2 |',
  ])
})

test('the printed results of a run in parts are read together, skipped ones left out', () => {
  const folder = createDataFolder('faults-table')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const paths = ['first.jsonl', 'second.jsonl'].map((name) => join(folder, name))
  const printed = [
    [line('calm', { seed: 1 }), { scenario: 'clock', seed: 1, skipped: 'no library' }],
    [line('calm', { seed: 2 })],
  ]
  for (const [index, path] of paths.entries())
    writeFileSync(
      path,
      `${printed[index]?.map((each) => JSON.stringify(each)).join('\n')}\n\n| all |`,
    )
  expect(linesIn(paths).map(({ scenario, seed }) => [scenario, seed])).toEqual([
    ['calm', 1],
    ['calm', 2],
  ])
})
