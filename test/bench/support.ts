import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { parseTopic } from '@parley/contract'
import { buildApp } from '@parley/server/app'
import { createEventBus } from '@parley/server/core/event-bus'
import { createJobStaging } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createShutdown } from '@parley/server/core/shutdown'
import { createTokens } from '@parley/server/core/signed-tokens'
import { createDb } from '@parley/server/db/client'
import { startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { migrate } from '@parley/server/db/migrate'
import { listen } from '@parley/server/http/listen'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { createProviderPreferences } from '@parley/server/jobs/push/preferences'
import { ADMIN_KEY } from './server.ts'

/** A PostgreSQL of its own for as long as the work takes. */
export async function withDatabase(work: (url: string) => Promise<void>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const server = await startEmbeddedPostgres({ dataDir })
  try {
    await migrate(server.url)
    await work(server.url)
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/**
 * A node with a user and their channels, and the publisher through which operations reach its hub.
 */
export async function startNode(databaseUrl: string) {
  const db = createDb({ url: databaseUrl, poolSize: 10, applicationName: 'parley-bench' })
  const tokens = await createTokens(['a secret of the bench, 32 bytes or more'])
  const bus = createEventBus()
  const metrics = createMetrics()
  const cleanup = createCleanup({
    db,
    publisher: bus.publisher,
    metrics,
    onError: (error) => console.error(error),
  })
  const server = buildApp({
    db,
    metrics,
    shutdown: createShutdown(),
    bus,
    http: {
      rateLimits: { tokens: 0, messages: 0, requests: 0 },
      allowedOrigins: [],
      trustProxy: false,
      hasDocsPage: false,
      hasConsole: false,
      logLevel: 'error',
      logSample: 1,
    },
    access: { tokens, adminKey: ADMIN_KEY, userAdminAccess: 'bearer' },
    urls: { publicUrl: () => 'http://bench', wsUrl: () => 'ws://bench' },
    webhooks: { allowedHosts: [], mustBeHttps: false },
    jobs: {
      erasure: cleanup,
      staging: createJobStaging([]),
      providerPreferences: createProviderPreferences(undefined),
    },
    realtime: {
      databaseUrl,
      presenceGraceSeconds: 15,
      socketsPerUser: 0,
      eventMemoryBytes: 128 * 1024 * 1024,
      sendMemoryBytes: 256 * 1024 * 1024,
      timings: { shutdownMs: 0 },
    },
  })
  const url = await listen(server, { port: 0, host: '127.0.0.1' })
  const app = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name: 'Bench' })
  const user = await createApi({ url, apiKey: app.apiKey }).tokens.create({ userId: 'ana' })
  const ana = createApi({ url, token: user.token })
  const ids: string[] = []
  for (let index = 0; index < 50; index++)
    ids.push((await ana.channels.create({ type: 'group', name: `Channel ${index}` })).id)
  const [channelId = '', ...moreChannels] = ids
  return {
    url,
    wsUrl: `${url.replace(/^http/, 'ws')}/connection/websocket`,
    app,
    user,
    channelId,
    moreChannels,
    publisher: bus.publisher,
    topOf: async (topic: string) => {
      const ref = parseTopic(topic)
      return ref?.kind === 'chat' ? (await ana.channels.get({ channelId: ref.channelId })).rev : 0
    },
    stop: async () => {
      await server.close()
      await db.end({ timeout: 1 })
    },
  }
}

export type SocketsOptions = {
  url: string
  count: number
  /** The commands that each socket sends when it is open. */
  commands: object[]
  topics?: string[]
  stamped?: boolean
}

/** Opens sockets in a process of their own, which count what they receive. */
export async function openSockets(options: SocketsOptions) {
  const child = fork(new URL('./sockets.ts', import.meta.url), {
    execArgv: process.execArgv.filter((argument) => argument !== '--expose-gc'),
  })
  let complete = 0
  let latencies: number[] = []
  let wake = () => {}
  const opened = new Promise<void>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`the process of the sockets exited with ${code}`)))
    child.on('message', (message: { opened?: true; complete?: number; latencies?: number[] }) => {
      if (message.opened) resolve()
      if (message.complete !== undefined) complete = message.complete
      if (message.latencies) latencies = message.latencies
      wake()
    })
  })
  child.send(options)
  await opened
  const until = async (isComplete: () => boolean) => {
    while (!isComplete()) await new Promise<void>((resolve) => (wake = resolve))
  }
  return {
    count: options.count,
    /** Resolves once every socket has received this number of messages. */
    received: (messages: number) => until(() => complete >= messages),
    /** Resolves with how long each message took, once this many have arrived. */
    latencies: async (count: number) => {
      child.send({ latencies: count })
      await until(() => latencies.length > 0)
      return latencies
    },
    close: () =>
      new Promise<void>((resolve) => {
        child.removeAllListeners('exit')
        child.on('exit', () => resolve())
        child.send('close')
      }),
  }
}

export const percentile = (values: number[], percent: number) =>
  Number(
    (values.toSorted((a, b) => a - b)[Math.floor((values.length * percent) / 100)] ?? 0).toFixed(1),
  )
type Figures = Record<string, string | number>
const printed: Record<string, Figures> = {}
const isJson = process.argv.includes('--json')

/** Prints figures in a line, or with `--json` all of them as one object at the end. */
export function print(what: string, values: Figures) {
  if (isJson) {
    printed[what] = values
    return
  }
  const figures = Object.entries(values).map(([name, value]) => `${name} ${value}`)
  console.log(`${what.padEnd(44)}${figures.join('   ')}`)
}
process.on('exit', () => {
  if (isJson) console.log(JSON.stringify(printed, null, 2))
})
