import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApi } from '@parley/client'
import { connectOnce } from '@parley/server/db/client'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'

/**
 * The CPU time of a send with a push provider, relative to one without (`off`). With `external` the
 * server only stages jobs; with `on` it also delivers all pushes. The three take turns, so that a
 * busy machine affects them alike.
 */
const SENDS = 1_500
const MEMBERS = 3
const CHANNELS = 20
const CONCURRENCY = 32
const ROUNDS = 3
const MAX_RATIO = 1.3
const ADMIN_KEY = 'admin-key-of-the-bench'

type Setup = 'off' | 'external' | 'on'
const results: Record<Setup, number[]> = { off: [], external: [], on: [] }

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir })
const provider = await serveProvider()
try {
  for (let round = 0; round <= ROUNDS; round++) {
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
  const median = (values: number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  const off = median(results.off)
  for (const [setup, values] of Object.entries(results)) {
    const microseconds = median(values).toFixed(0).padStart(6)
    const ratio = (median(values) / off).toFixed(2)
    console.log(`push ${setup.padEnd(8)} ${microseconds} µs of CPU per send  × ${ratio}`)
  }
  if (median(results.on) / off <= MAX_RATIO) return
  console.error(`a send with push on may cost at most × ${MAX_RATIO}`)
  process.exitCode = 1
}

async function measure(setup: Setup, database: string) {
  const admin = connectOnce(postgres.url)
  await admin.unsafe(`create database ${database}`)
  await admin.end()
  const url = new URL(postgres.url)
  url.pathname = `/${database}`
  const server = await startServer({
    DATABASE_URL: url.href,
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

async function startServer(variables: Record<string, string>) {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const child = spawn(
    process.execPath,
    ['--conditions=parley-source', '--import', 'tsx', 'server/bin/server.ts'],
    {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        USER_ADMIN_ACCESS: 'server',
        HOST: '127.0.0.1',
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        METRICS_PORT: String(metricsPort),
        JWT_SECRET: 'a secret of the bench, 32 bytes or more',
        ADMIN_API_KEY: ADMIN_KEY,
        RATE_LIMIT_MESSAGES: '0',
        RATE_LIMIT_REQUESTS: '0',
        RATE_LIMIT_TOKENS: '0',
        LOG_LEVEL: 'error',
        ...variables,
      },
    },
  )
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const url = `http://127.0.0.1:${port}`
  // The server listens last, after the metrics.
  while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) await pause(50)
  return {
    url,
    cpuSeconds: async () => Number(/^process_cpu_seconds_total (\S+)/m.exec(await metrics())?.[1]),
    stop: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
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

async function freePort() {
  const server = createSocketServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on a port
  server.close()
  await once(server, 'close')
  return port
}

function pause(milliseconds: number) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
