import { createHistogram } from 'node:perf_hooks'
import { buildApp } from '@parley/server/app'
import { createEventBus } from '@parley/server/core/event-bus'
import { createJobStaging } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createShutdown } from '@parley/server/core/shutdown'
import { createTokens } from '@parley/server/core/signed-tokens'
import { createDb, type Patience } from '@parley/server/db/client'
import { listen } from '@parley/server/http/listen'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { createProviderPreferences } from '@parley/server/jobs/push/preferences'
import type { Timings } from '@parley/server/realtime/timings'
import { medianMs } from '../support/median-ms.ts'
import { ADMIN_KEY, SECRET } from '../support/secrets.ts'

/** The options that a test may set: as JSON, after the URL of the database. */
export type NodeOptions = {
  poolSize?: number
  tokensAMinute?: number
  timings?: Partial<Timings>
  patience?: Patience
}

/**
 * A node in a process of its own. Once armed, it kills itself between commit and publish. On
 * request it answers how late its event loop has been since the last request, in milliseconds (the
 * 99.9th percentile of the delays and of the time, and the longest delay), the bytes of its heap
 * after a garbage collection, its open sockets, and the statements that it has sent.
 */
const [, , databaseUrl = '', given = '{}'] = process.argv
const options = JSON.parse(given) as NodeOptions // by the test
const { poolSize = 4, tokensAMinute = 0, timings, patience } = options
let isArmed = false
const delays = watchDelays()
process.on('message', async (message) => {
  if (message === 'arm') isArmed = true
  if (message === 'state') {
    const { values } = await metrics.sockets.get()
    const openSockets = values.reduce((sum, { value }) => sum + value, 0)
    const longestMs = delays.max / 1e6
    // Those of a test that does not ask for them.
    statements.length = 0
    globalThis.gc?.()
    process.send?.({ longestMs, heapBytes: process.memoryUsage().heapUsed, openSockets })
    // The collection was no work of the node.
    delays.restart()
  }
  if (message !== 'delay') return
  process.send?.({
    usualMs: delays.percentile(99.9) / 1e6,
    byTimeMs: delays.percentileOfTime(99.9) / 1e6,
    longestMs: delays.max / 1e6,
  })
  delays.restart()
})

/**
 * How long the work of this process kept its event loop busy at once, in nanoseconds. The time that
 * other processes had the processor meanwhile does not count.
 */
function watchDelays() {
  const delays = createHistogram()
  /** Each as often as it has milliseconds: a percentile of these is one of the time. */
  const byTime = createHistogram()
  let startedAt = performance.now()
  let used = process.cpuUsage()
  const begin = () => {
    startedAt = performance.now()
    used = process.cpuUsage()
  }
  const tick = () => {
    const { user, system } = process.cpuUsage(used)
    const milliseconds = Math.min(performance.now() - startedAt, (user + system) / 1_000)
    const nanoseconds = Math.max(1, Math.round(milliseconds * 1e6))
    delays.record(nanoseconds)
    for (let left = Math.max(1, milliseconds); left > 0; left--) byTime.record(nanoseconds)
    begin()
  }
  setInterval(tick, 1).unref()
  return {
    get max() {
      return delays.max
    },
    percentile: (percent: number) => delays.percentile(percent),
    percentileOfTime: (percent: number) => byTime.percentile(percent),
    restart: () => {
      delays.reset()
      byTime.reset()
      begin()
    },
  }
}

const statements: string[] = []
let longestUseMs = 0
const pool = createDb({
  url: databaseUrl,
  poolSize,
  applicationName: 'parley-test-node',
  ...(patience && { patience }),
  onStatement: (statement) => void statements.push(statement),
})
const use: typeof pool.use = async (work, deadline) => {
  const startedAt = performance.now()
  try {
    return await pool.use(work, deadline)
  } finally {
    longestUseMs = Math.max(longestUseMs, performance.now() - startedAt)
  }
}
const db = { ...pool, use }
process.on('message', async (message) => {
  if (message !== 'work') return
  const work = { statements: statements.splice(0), longestUseMs }
  const controlMs = await medianMs(() =>
    pool.use(
      (tx) => tx`
        select count(*)
        from generate_series(1, 50000)`,
    ),
  )
  statements.length = 0
  longestUseMs = 0
  process.send?.({ ...work, controlMs })
})
const bus = createEventBus()
const publisher: typeof bus.publisher = {
  ...bus.publisher,
  publish: (events) => {
    if (isArmed) process.kill(process.pid, 'SIGKILL')
    bus.publisher.publish(events)
  },
}
const metrics = createMetrics()
const app = buildApp({
  db,
  metrics,
  shutdown: createShutdown(),
  bus: { ...bus, publisher },
  http: {
    rateLimits: { tokens: tokensAMinute, messages: 0, requests: 0 },
    allowedOrigins: [],
    trustProxy: false,
    hasDocsPage: false,
    hasConsole: false,
    logLevel: 'error',
    logSample: 1,
  },
  access: {
    tokens: await createTokens([SECRET]),
    adminKey: ADMIN_KEY,
    userAdminAccess: 'bearer',
  },
  urls: { publicUrl: () => 'http://test', wsUrl: () => 'ws://test' },
  webhooks: { allowedHosts: [], mustBeHttps: false },
  jobs: {
    erasure: createCleanup({ db, publisher, metrics, onError: console.error }),
    staging: createJobStaging([]),
    providerPreferences: createProviderPreferences(undefined),
  },
  realtime: {
    databaseUrl,
    presenceGraceSeconds: 15,
    socketsPerUser: 0,
    eventMemoryBytes: 128 * 1024 * 1024,
    sendMemoryBytes: 256 * 1024 * 1024,
    timings,
  },
})
process.send?.(await listen(app, { port: 0, host: '127.0.0.1' }))
