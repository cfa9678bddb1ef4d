import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { quick, scenarios } from './scenarios.ts'

const OPTIONS = {
  /** Comma-separated names; by default the quick ones, or all if it runs for minutes or hours. */
  scenario: { type: 'string' },
  /** Decides the faults, their order and the load. */
  seed: { type: 'string', default: '1' },
  nodes: { type: 'string', default: '3' },
  /** How long each scenario does harm. */
  seconds: { type: 'string' },
  /** The time in which everything must become right after the last fault, in seconds. */
  settle: { type: 'string', default: '100' },
  /** Repeats the scenarios for this many minutes, each time with the next seed. */
  minutes: { type: 'string', default: '0' },
  hours: { type: 'string', default: '0' },
  /** Runs nothing, and adds up what runs have printed into these files, with commas. */
  table: { type: 'string' },
  /** Nothing else runs on this machine: nodes must be back within 2 s of the database. */
  idle: { type: 'boolean', default: false },
  /** Runs nothing, and prints the names of all scenarios. */
  list: { type: 'boolean', default: false },
} as const

/**
 * Reads all options before anything runs: a wrong one at the end of a list would cost the results
 * of those before it. Answers what is wrong instead, a line each.
 */
export function readOptions(args: string[]) {
  const problems: string[] = []
  const values = parse(args)
  if (typeof values === 'string') return { problems: [values] }
  const number = (name: keyof typeof NUMBERS) => {
    const given = values[name]
    const { pattern, expected } = NUMBERS[name]
    if (given !== undefined && !pattern.test(given))
      problems.push(`--${name}: expected ${expected}, not ${given}`)
    return Number(given)
  }
  const minutes = number('minutes') + 60 * number('hours')
  const names = values.scenario?.split(',') ?? (minutes > 0 ? Object.keys(scenarios) : quick)
  for (const name of names.filter((name) => !Object.hasOwn(scenarios, name)))
    problems.push(`--scenario: there is no ${name}; --list prints the names`)
  const tables = values.table?.split(',')
  for (const path of tables?.filter((path) => !existsSync(path)) ?? [])
    problems.push(`--table: there is no file ${path}`)
  const options = {
    names,
    minutes,
    tables,
    seed: number('seed'),
    nodes: number('nodes'),
    seconds: values.seconds === undefined ? undefined : number('seconds'),
    settleSeconds: number('settle'),
    isMachineIdle: values.idle,
    isList: values.list,
  }
  return problems.length > 0 ? { problems } : { options }
}
export type Options = NonNullable<ReturnType<typeof readOptions>['options']>

/** The options as they are written, or what is wrong with them. */
function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return error.message
  }
}

const POSITIVE = { pattern: /^(?=.*[1-9])\d+(\.\d+)?$/, expected: 'a number above 0' }
const LENGTH = { pattern: /^\d+(\.\d+)?$/, expected: 'a number' }
const NUMBERS = {
  seed: { pattern: /^\d+$/, expected: 'a whole number' },
  nodes: { pattern: /^[1-9]\d*$/, expected: 'a whole number above 0' },
  seconds: POSITIVE,
  settle: POSITIVE,
  minutes: LENGTH,
  hours: LENGTH,
}
