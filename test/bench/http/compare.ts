import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { createDatabase, startServer } from '../server.ts'
import { counting, watchDatabase } from './database.ts'
import { createMeasure, type Measured, startClients, type Target } from './measure.ts'
import { medians, printTable, type Row } from './table.ts'
import { startRoutes } from './targets.ts'

/**
 * The options of request benchmarks: `--connections 1,32,128`, `--rounds` and `--seconds` a
 * round; `--only list,mark` measures the targets whose names have one of these words; `--json`
 * prints the figures as JSON; `--profile` names a folder for a profile of the server; `--workers
 * 1,2` measures everything with each number of worker processes; `--smoke` only sees whether
 * everything still works.
 */
export function readOptions() {
  const { values: given } = parseArgs({
    options: {
      connections: { type: 'string' },
      rounds: { type: 'string' },
      workers: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const defaults = given.smoke
    ? { connections: '2', rounds: 1, seconds: 0.2, channels: 3, members: 3 }
    : { connections: '1,32,128', rounds: 5, seconds: 2, channels: 200, members: 20 }
  return {
    ...defaults,
    connections: (given.connections ?? defaults.connections).split(',').map(Number),
    rounds: Number(given.rounds ?? defaults.rounds),
    seconds: Number(given.seconds ?? defaults.seconds),
    workers: given.workers.split(',').map(Number),
    only: given.only.split(','),
    json: given.json,
    profile: given.profile,
  }
}
export type Options = ReturnType<typeof readOptions>

type Started = {
  server: Awaited<ReturnType<typeof startServer>>
  routes: Awaited<ReturnType<typeof startRoutes>>
  sql: Awaited<ReturnType<typeof watchDatabase>>['sql']
}
type Comparison = {
  options: Options
  /** The targets whose rates all others are compared with, by name. */
  baselines: string[]
  targets: (started: Started) => Promise<Record<string, Target>>
}

/**
 * Measures targets that take turns, so that a busy machine affects them alike; each figure is the
 * median of the rounds. Rates depend on the machine; ratios, CPU, statements and WAL count.
 */
export async function compare(comparison: Comparison) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
  try {
    await run(await createDatabase(postgres.url, 'bench'), comparison)
  } finally {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function run(databaseUrl: string, comparison: Comparison) {
  const { options } = comparison
  const table: Row[] = []
  for (const workers of options.workers) table.push(...(await runWith(workers)))
  const machine = { cpus: cpus().length, cpu: cpus()[0]?.model, node: process.version }
  if (options.json) console.log(JSON.stringify({ machine, options, rows: table }, null, 2))

  /** One server at a time, so that none of them receives anything of the other's messages. */
  async function runWith(workers: number) {
    const variables = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'info', WORKERS: String(workers) }
    const server = await startServer(variables, options.profile)
    const routes = await startRoutes(databaseUrl)
    const clients = startClients()
    const database = await watchDatabase(databaseUrl)
    try {
      const read = database.read
      const measure = createMeasure({ clients, read, seconds: options.seconds })
      const started = { server, routes, sql: database.sql }
      return await runAll(started, { ...comparison, measure, workers })
    } finally {
      await database.end()
      clients.stop()
      routes.stop()
      await server.stop()
    }
  }
}

type Measure = ReturnType<typeof createMeasure>

async function runAll(started: Started, given: Comparison & { measure: Measure; workers: number }) {
  const { options, baselines, targets: start, measure, workers } = given
  const isWanted = (name: string) => options.only.some((word) => name.includes(word))
  const all = Object.entries(await start(started))
  const targets = Object.fromEntries(all.filter(([name]) => isWanted(name)))
  for (const target of Object.values(targets)) await measure(target, 32)
  await started.sql`vacuum analyze`
  await started.sql`checkpoint`
  const table: Row[] = []
  for (const connections of options.connections) {
    const measured = await measureAll(targets, { options, connections, measure })
    const rows = measured.map((row) => ({ workers, ...row }))
    table.push(...rows)
    if (!options.json) printTable(rows, baselines)
  }
  return table
}

/** Takes rounds of all targets in turn, after one to warm up. */
async function measureAll(
  targets: Record<string, Target>,
  { options, connections, measure }: { options: Options; connections: number; measure: Measure },
) {
  const rounds = new Map<string, Measured[]>()
  for (let round = 0; round <= options.rounds; round++) {
    progress(`${connections} connections, round ${round} of ${options.rounds}`)
    for (const [name, target] of Object.entries(targets)) {
      const measured = await measure(target, connections)
      progress(`  ${name}: ${roundLine(measured, await target.rss?.())}`)
      if (round > 0) rounds.set(name, [...(rounds.get(name) ?? []), measured])
    }
  }
  return [...rounds].map(([target, measured]) => {
    const failed = measured.reduce((sum, each) => sum + each.failed, 0)
    return { target, connections, failed, ...medians(measured) }
  })
}

const roundLine = ({ perSecond }: Measured, rss: number | undefined) => {
  const rate = `${Math.round(perSecond)} a second`
  return rss === undefined ? rate : `${rate}, ${Math.round(rss / 1024 ** 2)} MiB resident`
}

export const progress = (line: string) => process.stderr.write(`${line}\n`)
