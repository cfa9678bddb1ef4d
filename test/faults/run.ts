import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundlePrograms } from '../support/programs.ts'
import { play } from './play.ts'
import { quick, scenarios } from './scenarios.ts'
import { RETURN_MS } from './serving.ts'
import { type Line, linesIn, tableOf } from './table.ts'

/** How many calls of a late return are shown: the last ones. */
const SHOWN = 10

/**
 * `npm run test:faults`: runs programs under load, breaks what they stand on, and checks that every
 * promise was kept. One line of figures for each scenario, with its violations, then their table.
 */
const { values: options } = parseArgs({
  options: {
    /** Comma-separated names; by default the quick ones, or all if it runs for minutes or hours. */
    scenario: { type: 'string' },
    /** Decides the faults, their order and the load. */
    seed: { type: 'string', default: '1' },
    nodes: { type: 'string', default: '3' },
    /** How long each scenario does harm. */
    seconds: { type: 'string' },
    /** The time in which everything must become right after the last fault, in seconds. */
    settle: { type: 'string', default: '100' },
    /** Repeats the scenarios, each time with the next seed, for so long. */
    minutes: { type: 'string', default: '0' },
    hours: { type: 'string', default: '0' },
    /** Runs nothing, and adds up what runs have printed into these files, with commas. */
    table: { type: 'string' },
    /** Nothing else runs on this machine: nodes must be back within 2 s of the database. */
    idle: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

async function run() {
  if (options.list) return console.log(Object.keys(scenarios).join('\n'))
  if (options.table) return console.log(tableOf(linesIn(options.table.split(','))))
  const minutes = Number(options.minutes) + 60 * Number(options.hours)
  const names = options.scenario?.split(',') ?? (minutes > 0 ? Object.keys(scenarios) : quick)
  const end = performance.now() + 60_000 * minutes
  const programs = await bundlePrograms({ bot: 'test/faults/bot.ts' })
  process.once('exit', programs.remove)
  const lines: Line[] = []
  const printTable = () => console.log(`\n${tableOf(lines)}`)
  for (let seed = Number(options.seed); ; seed++) {
    for (const name of names) {
      const line = await playOne(name, { seed, programs: programs.folder })
      if (line) lines.push(line)
      if (line && Object.keys(line.violations).length > 0) process.exitCode = 1
      if (minutes > 0 && performance.now() > end) return printTable()
    }
    if (minutes === 0) return printTable()
  }
}

/** Prints the figures and violations of a scenario, and returns them unless it was skipped. */
async function playOne(
  name: string,
  { seed, programs }: { seed: number; programs: string },
): Promise<Line | undefined> {
  const scenario = scenarios[name]
  if (!scenario) throw new Error(`there is no scenario ${name}`)
  const preparation = scenario.prepare?.() ?? {}
  if (typeof preparation === 'string') {
    console.log(JSON.stringify({ scenario: name, seed, skipped: preparation }))
    console.error(`${name} was SKIPPED: ${preparation}`)
    return undefined
  }
  const { end, ...rig } = preparation
  try {
    const seconds = Number(options.seconds ?? scenario.seconds)
    const { figures, violations, ...trace } = await play(scenario, {
      ...rig,
      seconds,
      settleSeconds: Number(options.settle),
      seed,
      programs,
      nodes: Number(options.nodes),
      isMachineIdle: options.idle,
    })
    const line = { scenario: name, seed, ...figures, violations }
    console.log(JSON.stringify(line))
    for (const slow of trace.history.returns.filter(({ milliseconds }) => milliseconds > RETURN_MS))
      console.error(`back late: ${JSON.stringify({ ...slow, asked: slow.asked?.slice(-SHOWN) })}`)
    if (Object.keys(violations).length === 0) return line
    const path = join(tmpdir(), `parley-faults-${name}-${seed}.json`)
    writeFileSync(path, JSON.stringify(trace))
    console.error(`${name}, seed ${seed}: violations; the history is in ${path}`)
    return line
  } finally {
    end?.()
  }
}

await run()
process.exit()
