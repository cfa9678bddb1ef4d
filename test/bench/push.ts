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
 * What pushes cost: CPU of the server for a send with a push provider over that without one. In turns, so that a busy
 * machine weighs on both alike. `external`: promises only; `on`: the pushes too, all delivered. Issue 5: at most 1.3.
 */
const SENDS = 1_500
const MEMBERS = 3
const CHANNELS = 20
const CONCURRENCY = 32
const ROUNDS = 3
const MOST = 1.3
const ADMIN_KEY = 'admin-key-of-the-bench'

type Kind = 'off' | 'external' | 'on'
const results: Record<Kind, number[]> = { off: [], external: [], on: [] }

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const postgres = await startEmbeddedPostgres({ dataDir })
const provider = await serveProvider()
try {
  for (let round = 0; round <= ROUNDS; round++) {
    for (const kind of ['off', 'external', 'on'] as const) {
      const microseconds = await measure(kind, `bench_${kind}_${round}`)
      const isWarmUp = round === 0
      if (!isWarmUp) results[kind].push(microseconds)
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
  for (const [kind, values] of Object.entries(results)) {
    console.log(
      `push ${kind.padEnd(8)} ${median(values).toFixed(0).padStart(6)} µs of CPU a send  × ${(median(values) / off).toFixed(2)}`,
    )
  }
  if (median(results.on) / off <= MOST) return
  console.error(`sending with push on may cost at most × ${MOST}`)
  process.exitCode = 1
}

async function measure(kind: Kind, database: string) {
  const admin = connectOnce(postgres.url)
  await admin.unsafe(`create database ${database}`)
  await admin.end()
  const url = new URL(postgres.url)
  url.pathname = `/${database}`
  const server = await startServer({
    DATABASE_URL: url.href,
    JOBS: kind === 'external' ? 'external' : 'on',
    ...(kind === 'off' ? {} : { PUSH_SECRET_KEY: 'key', PUSH_API_URL: provider.url }),
  })
  try {
    const send = await makeSender(server.url)
    await send(SENDS / 4)
    await provider.settled()
    const pushes = provider.count()
    const before = await server.cpuSeconds()
    await send(SENDS)
    while (kind === 'on' && provider.count() < pushes + SENDS * (MEMBERS - 1)) await pause(20)
    return (1e6 * ((await server.cpuSeconds()) - before)) / SENDS
  } finally {
    await server.stop()
  }
}

/** Members of some channels, one of whom sends. */
async function makeSender(url: string) {
  const { apiKey } = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const ids = Array.from({ length: MEMBERS }, (_, index) => `user${index}`)
  const [own] = await Promise.all(
    ids.map((userId) => createApi({ url, apiKey }).tokens.create({ userId })),
  )
  if (!own) throw new Error('nobody to send')
  const ana = createApi({ url, token: own.token })
  const channels: string[] = []
  for (let index = 0; index < CHANNELS; index++)
    channels.push(
      (
        await ana.channels.create({
          type: 'group',
          name: `Channel ${index}`,
          memberIds: ids.slice(1),
        })
      ).id,
    )
  return async (count: number) => {
    let sent = 0
    const one = async () => {
      while (sent < count)
        await ana.messages.send({
          channelId: channels[sent++ % CHANNELS] ?? '',
          text: 'The soup is ready, who is hungry?',
        })
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, one))
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
  while (!(await metrics().catch(() => ''))) await pause(50)
  return {
    url: `http://127.0.0.1:${port}`,
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
    count += text.split('"transactionId"').length - 1
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"data":[]}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on a port
  const settled = async () => {
    for (let before = -1; before !== count; await pause(500)) before = count
  }
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => count,
    settled,
    stop: () => server.close().closeAllConnections(),
  }
}

async function freePort() {
  const server = createSocketServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // likewise
  server.close()
  await once(server, 'close')
  return port
}

function pause(milliseconds: number) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
