import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { ADMIN_KEY, createDatabase, median, pause, startServer } from './server.ts'

/**
 * The CPU time of a send with a push provider, relative to one without (`off`). With `external` the
 * server only stages jobs; with `on` it also delivers all pushes. The three take turns, so that a
 * busy machine affects them alike.
 */
const isSmoke = process.argv.includes('--smoke')
const SENDS = isSmoke ? 40 : 1_500
const MEMBERS = 3
const CHANNELS = 20
const CONCURRENCY = 32
const ROUNDS = isSmoke ? 1 : 3
const MAX_RATIO = 1.3

type Setup = 'off' | 'external' | 'on'
const results: Record<Setup, number[]> = { off: [], external: [], on: [] }

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir })
const provider = await serveProvider()
try {
  // The first round warms up, and its time does not count.
  for (let round = isSmoke ? 1 : 0; round <= ROUNDS; round++) {
    for (const setup of ['off', 'external', 'on'] as const) {
      const microseconds = await measure(setup, `bench_${setup}_${round}`)
      const isWarmUp = round === 0
      if (!isWarmUp) results[setup].push(microseconds)
    }
  }
} finally {
  await postgres.stop()
  provider.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
report()

function report() {
  const off = median(results.off)
  if (process.argv.includes('--json')) {
    const figures = Object.entries(results).map(([setup, values]) => [setup, median(values)])
    console.log(JSON.stringify({ 'µs of CPU a send': Object.fromEntries(figures) }, null, 2))
  } else printTable(off)
  // A smoke run sends too few messages to say anything about costs.
  if (isSmoke || median(results.on) / off <= MAX_RATIO) return
  console.error(`a send with push on may cost at most × ${MAX_RATIO}`)
  process.exitCode = 1
}

function printTable(off: number) {
  for (const [setup, values] of Object.entries(results)) {
    const microseconds = median(values).toFixed(0).padStart(6)
    const ratio = (median(values) / off).toFixed(2)
    console.log(`push ${setup.padEnd(8)} ${microseconds} µs of CPU per send  × ${ratio}`)
  }
}

async function measure(setup: Setup, database: string) {
  const server = await startServer({
    DATABASE_URL: await createDatabase(postgres.url, database),
    JOBS: setup === 'external' ? 'external' : 'on',
    ...(setup === 'off' ? {} : { PUSH_SECRET_KEY: 'key', PUSH_API_URL: provider.url }),
  })
  try {
    const send = await createSender(server.url)
    await send(SENDS / 4)
    await provider.settle()
    const pushes = provider.count()
    const before = await server.cpuSeconds()
    await send(SENDS)
    while (setup === 'on' && provider.count() < pushes + SENDS * (MEMBERS - 1)) await pause(20)
    return (1e6 * ((await server.cpuSeconds()) - before)) / SENDS
  } finally {
    await server.stop()
  }
}

/** Creates channels, and returns a function that sends this many messages to them. */
async function createSender(url: string) {
  const { apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const ids = Array.from({ length: MEMBERS }, (_, index) => `user${index}`)
  const [minted] = await Promise.all(
    ids.map((userId) => createApi({ url, apiKey }).tokens.create({ userId })),
  )
  if (!minted) throw new Error('no user was created')
  const ana = createApi({ url, token: minted.token })
  const channelIds: string[] = []
  for (let index = 0; index < CHANNELS; index++) {
    const name = `Channel ${index}`
    const channel = await ana.channels.create({ type: 'group', name, memberIds: ids.slice(1) })
    channelIds.push(channel.id)
  }
  return async (count: number) => {
    let sent = 0
    const sendUntilDone = async () => {
      while (sent < count) {
        const channelId = channelIds[sent++ % CHANNELS] ?? ''
        await ana.messages.send({ channelId, text: 'The soup is ready, who is hungry?' })
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, sendUntilDone))
  }
}

async function serveProvider() {
  let count = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const pushes = text.split('"transactionId"').length - 1
    count += pushes
    const outcome = { acknowledged: true, status: 'processed' }
    const data = pushes === 1 ? outcome : Array(pushes).fill(outcome)
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on a port
  /** Waits until no more pushes arrive. */
  const settle = async () => {
    for (let before = -1; before !== count; await pause(500)) before = count
  }
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => count,
    settle,
    stop: () => server.close().closeAllConnections(),
  }
}
