import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundlePrograms } from '../support/programs.ts'
import { type Options, readOptions } from './options.ts'
import { play } from './play.ts'
import { scenarios } from './scenarios.ts'
import { RETURN_MS } from './serving.ts'
import { type Line, linesIn, tableOf } from './table.ts'

/** How many calls of a late return are shown: the last ones. */
const SHOWN = 10

/**
 * `npm run test:faults`: runs the programs under load, breaks what they depend on, and checks that
 * every promise was kept. Prints one line of figures for each scenario, with its violations, then a
 * table of all.
 */
async function run() {
  const { options, problems } = readOptions(process.argv.slice(2))
  if (!options) return refuse(problems)
  const { names, minutes, tables, isList, ...settings } = options
  if (isList) return console.log(Object.keys(scenarios).join('\n'))
  if (tables) return console.log(tableOf(linesIn(tables)))
  const end = performance.now() + 60_000 * minutes
  const programs = await bundlePrograms({ bot: 'test/faults/bot.ts' })
  process.once('exit', programs.remove)
  const lines: Line[] = []
  const printTable = () => console.log(`\n${tableOf(lines)}`)
  for (let { seed } = settings; ; seed++) {
    for (const name of names) {
      const line = await playOne(name, { ...settings, seed, programs: programs.folder })
      if (line) lines.push(line)
      if (line && Object.keys(line.violations).length > 0) process.exitCode = 1
      if (minutes > 0 && performance.now() > end) return printTable()
    }
    if (minutes === 0) return printTable()
  }
}

type Settings = Omit<Options, 'names' | 'minutes' | 'tables' | 'isList'> & { programs: string }

/** Prints the figures and violations of a scenario, and returns them unless it was skipped. */
async function playOne(
  name: string,
  { seconds, ...settings }: Settings,
): Promise<Line | undefined> {
  const { seed } = settings
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
    const { figures, violations, ...trace } = await play(scenario, {
      ...rig,
      ...settings,
      seconds: seconds ?? scenario.seconds,
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

function refuse(problems: string[]) {
  for (const problem of problems) console.error(problem)
  process.exitCode = 1
}

await run()
process.exit()
