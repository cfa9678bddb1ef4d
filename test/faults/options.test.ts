import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { root } from '../support/consumer.ts'

/** Runs `npm run test:faults` with these options. */
const runFaults = (...options: string[]) =>
  spawnSync(
    process.execPath,
    ['--conditions=parley-source', '--import', 'tsx', 'test/faults/run.ts', ...options],
    { cwd: root, encoding: 'utf8' },
  )

test('a wrong option of a run of faults is refused in a line of its own, before it runs', () => {
  const numbers = '--seed abc --nodes 0 --seconds 0 --settle ten --minutes=-3 --hours 1h'.split(' ')
  const wrong = runFaults('--scenario', 'calm,nothing,toString', ...numbers, '--table', 'no.jsonl')
  expect([wrong.status, wrong.stdout]).toEqual([1, ''])
  expect(wrong.stderr.trimEnd().split('\n').sort()).toEqual([
    '--hours: expected a number, not 1h',
    '--minutes: expected a number, not -3',
    '--nodes: expected a whole number above 0, not 0',
    '--scenario: there is no nothing; --list prints the names',
    '--scenario: there is no toString; --list prints the names',
    '--seconds: expected a number above 0, not 0',
    '--seed: expected a whole number, not abc',
    '--settle: expected a number above 0, not ten',
    '--table: there is no file no.jsonl',
  ])
})

test.each([
  [['--sed', '1'], "Unknown option '--sed'"],
  [['kill'], "Unexpected argument 'kill'. This command does not take positional arguments"],
])('options that no run of faults has are refused without a stack: %s', (options, line) => {
  const { status, stderr } = runFaults(...options)
  expect([status, stderr]).toEqual([1, `${line}\n`])
})

test('--list prints the names of all scenarios', () => {
  const { status, stdout } = runFaults('--list')
  expect([status, stdout.split('\n').slice(0, 2)]).toEqual([0, ['calm', 'kill']])
})
