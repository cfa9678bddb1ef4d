import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApi } from '@parley/client'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { counting, watchDatabase } from './send/database.ts'
import { createMeasure, type Measured, startClients, type Target } from './send/measure.ts'
import { medians, printTable, type Row } from './send/table.ts'
import { requestOf, startRoutes } from './send/targets.ts'
import { ADMIN_KEY, createDatabase, startServer } from './server.ts'

/**
 * Sends spread over many channels, and into one hot channel, beside hand-written routes on the same
 * PostgreSQL. The targets take turns, so that a busy machine affects them alike, and each figure is
 * the median of the rounds. Rates depend on the machine; ratios, CPU, statements and WAL count.
 *
 * `--connections 1,32,128`, `--rounds` and `--seconds` a round choose; `--json` prints the figures
 * as JSON; `--smoke` only sees whether everything still works.
 */
const { values: given } = parseArgs({
  options: {
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const defaults = given.smoke
  ? { connections: '2', rounds: 1, seconds: 0.2, channels: 3, members: 3 }
  : { connections: '1,32,128', rounds: 5, seconds: 2, channels: 200, members: 20 }
const options = {
  ...defaults,
  connections: (given.connections ?? defaults.connections).split(',').map(Number),
  rounds: Number(given.rounds ?? defaults.rounds),
  seconds: Number(given.seconds ?? defaults.seconds),
}
const BASELINES = ['bare', 'insert', 'bump']
const progress = (line: string) => process.stderr.write(`${line}\n`)

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir, settings: counting })
try {
  await main()
} finally {
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function main() {
  const databaseUrl = await createDatabase(postgres.url, 'bench')
  const server = await startServer({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' })
  const routes = await startRoutes(databaseUrl)
  const clients = startClients()
  const database = await watchDatabase(databaseUrl)
  try {
    const { channelIds, tokens } = await seed(server.url)
    const [hot = ''] = channelIds
    const ours = { cpuSeconds: server.cpuSeconds, url: server.url }
    const sendTo = (ids: string[]) => ({
      ...ours,
      requests: ids.map((id, index) =>
        requestOf(`/api/channels/${id}/messages`, tokens[index % tokens.length]),
      ),
    })
    const post = (route: string, ids: string[]) => ({
      ...routes,
      requests: ids.map((id) => requestOf(`/${route}/${id}`)),
    })
    const onlyHot = Array.from(channelIds, () => hot)
    const targets: Record<string, Target> = {
      bare: post('bare', channelIds),
      insert: post('insert', channelIds),
      bump: post('bump', onlyHot),
      'parley, spread': sendTo(channelIds),
      'parley, hot': sendTo(onlyHot),
    }
    const { seconds } = options
    const measure = createMeasure({ clients, read: database.read, seconds })
    for (const target of Object.values(targets)) await measure(target, 32)
    await database.sql`analyze`
    await database.sql`checkpoint`
    const all: Row[] = []
    for (const connections of options.connections) {
      const rows = await measureAll(targets, { connections, measure })
      all.push(...rows)
      if (!given.json) printTable(rows, BASELINES)
    }
    const machine = { cpus: cpus().length, cpu: cpus()[0]?.model, node: process.version }
    if (given.json) console.log(JSON.stringify({ machine, options, rows: all }, null, 2))
  } finally {
    await database.end()
    clients.stop()
    routes.stop()
    await server.stop()
  }
}

type Measure = ReturnType<typeof createMeasure>

/** Takes rounds of all targets in turn, after one to warm up. */
async function measureAll(
  targets: Record<string, Target>,
  { connections, measure }: { connections: number; measure: Measure },
) {
  const rounds = new Map<string, Measured[]>()
  for (let round = 0; round <= options.rounds; round++) {
    progress(`${connections} connections, round ${round} of ${options.rounds}`)
    for (const [name, target] of Object.entries(targets)) {
      const measured = await measure(target, connections)
      if (round > 0) rounds.set(name, [...(rounds.get(name) ?? []), measured])
    }
  }
  return [...rounds].map(([target, measured]) => {
    const failed = measured.reduce((sum, each) => sum + each.failed, 0)
    return { target, connections, failed, ...medians(measured) }
  })
}

/** The channels, and the tokens of their members. */
async function seed(url: string) {
  progress(`${options.channels} channels of ${options.members} members`)
  const { apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const backend = createApi({ url, apiKey })
  const ids = Array.from({ length: options.members }, (_, index) => `user${index}`)
  const minted = await Promise.all(ids.map((userId) => backend.tokens.create({ userId })))
  const tokens = minted.map(({ token }) => token)
  const ana = createApi({ url, token: tokens[0] ?? '' })
  const channelIds: string[] = []
  for (let index = 0; index < options.channels; index++) {
    const name = `Channel ${index}`
    const channel = await ana.channels.create({ type: 'group', name, memberIds: ids.slice(1) })
    channelIds.push(channel.id)
  }
  return { channelIds, tokens }
}
