import { type AppOptions, buildApp } from '@parley/server/app'
import { createEventBus } from '@parley/server/core/event-bus'
import { acceptedTasks, createJobStaging } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createShutdown } from '@parley/server/core/shutdown'
import { createTokens } from '@parley/server/core/signed-tokens'
import { createDb, openConnection, type Patience } from '@parley/server/db/client'
import { ownSchema } from '@parley/server/db/schema-name'
import { listen } from '@parley/server/http/listen'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { type JobsOptions, startJobs } from '@parley/server/jobs/index'
import { createProviderPreferences } from '@parley/server/jobs/push/preferences'
import { watchWorkers } from '@parley/server/jobs/watch-workers'
import { expect, inject } from 'vitest'
import { allInTurn } from './all-in-turn.ts'
import { cloneDatabase } from './clone-database.ts'
import { keepAlive } from './keep-alive.ts'
import { openWorlds } from './open-worlds.ts'
import { ADMIN_KEY, PUBLIC_URL, SECRET } from './secrets.ts'
import { noteStatement } from './sql/sent.ts'
import { createNamesakes, expectTwinUntouched, watchForLeaks } from './twin/index.ts'
import { unhurried } from './until.ts'

const noLimits = { tokens: 0, messages: 0, requests: 0 }
export type Server = Awaited<ReturnType<typeof createServer>>

export type ServerOptions = Partial<
  AppOptions['http'] &
    Pick<AppOptions['access'], 'userAdminAccess'> &
    Pick<AppOptions['urls'], 'inviteUrl' | 'wsUrl'> &
    Omit<AppOptions['realtime'], 'databaseUrl'>
> & {
  poolSize?: number
  webhooks?: Partial<AppOptions['webhooks']>
  /** By default so long that no call fails because the machine is busy. */
  patience?: Patience
  onStatement?: (statement: string) => void
  databaseUrl?: string
  /** Notes between nodes pass through this Redis. */
  redis?: AppOptions['redis']
  /** Another URL of the database, for the notes between nodes. */
  brokerUrl?: string
  /** Without, no job is staged and none is run: JOBS=off. With `isElsewhere`: JOBS=external. */
  jobs?: Partial<Pick<JobsOptions, 'previews' | 'push' | 'timings' | 'log'>> & {
    isElsewhere?: boolean
  }
}

/** A running server, on a database of its own or on a given one. */
export async function createServer({
  jobs,
  onStatement,
  patience = unhurried,
  ...options
}: ServerOptions = {}) {
  const database =
    options.databaseUrl === undefined
      ? await cloneDatabase()
      : { url: options.databaseUrl, drop: async () => {} }
  const pool = createDb({
    url: database.url,
    poolSize: options.poolSize ?? 10,
    applicationName: 'parley-test',
    patience,
    onStatement: (statement) => {
      // Statements of a service in its own schema name the schema, and are otherwise the same.
      if (!ownSchema(database.url)) noteStatement(inject('statements'), statement)
      onStatement?.(statement)
    },
  })
  const db = openConnection({
    url: database.url,
    applicationName: 'parley-test-direct',
    max: 10,
    statementMs: patience.statementMs,
    idleInTransactionMs: patience.idleInTransactionMs,
  })
  const tokens = await createTokens([SECRET])
  const bus = createEventBus()
  const shutdown = createShutdown()
  const metrics = createMetrics()
  const staging = createJobStaging(
    acceptedTasks({ isOn: jobs !== undefined, hasPush: jobs?.push !== undefined }),
  )
  const cleanup = createCleanup({
    db: pool,
    publisher: bus.publisher,
    staging,
    metrics,
    onError: (error) => console.error(error),
  })
  const { presenceGraceSeconds = 15, socketsPerUser = 0 } = options
  const { eventMemoryBytes = 2 ** 27, sendMemoryBytes = 2 ** 28 } = options
  const { inviteUrl, userAdminAccess = 'bearer', webhooks } = options
  const workers = jobs?.isElsewhere ? watchWorkers({ db: pool, timings: jobs.timings }) : undefined
  const app = buildApp({
    db: pool,
    metrics,
    bus,
    shutdown,
    http: {
      rateLimits: noLimits,
      allowedOrigins: [],
      trustProxy: false,
      hasDocsPage: false,
      hasConsole: false,
      logLevel: 'error',
      logSample: 1,
      ...options,
    },
    access: { tokens, adminKey: ADMIN_KEY, userAdminAccess },
    urls: {
      publicUrl: () => PUBLIC_URL,
      wsUrl: options.wsUrl ?? (() => 'ws://test/connection/websocket'),
      inviteUrl,
    },
    webhooks: { allowedHosts: [], mustBeHttps: false, ...webhooks },
    jobs: {
      erasure: cleanup,
      staging,
      workers: workers?.state,
      providerPreferences: createProviderPreferences(jobs?.push),
    },
    realtime: {
      databaseUrl: options.brokerUrl ?? database.url,
      presenceGraceSeconds,
      socketsPerUser,
      socketsPerApp: options.socketsPerApp,
      eventMemoryBytes,
      sendMemoryBytes,
      timings: { shutdownMs: 50, coMembersPauseMs: 20, ...options.timings },
    },
    redis: options.redis,
  })
  const leaks = watchForLeaks(app.server)
  const addNamesakes = createNamesakes(db)
  const url = await listen(app, { port: 0, host: '127.0.0.1' })
  await keepAlive(db, options.timings)
  const work = {
    db: pool,
    databaseUrl: database.url,
    staging,
    publisher: bus.publisher,
    metrics,
    cleanup,
    log: app.log,
    previews: { allowedHosts: [] },
    push: undefined,
    webhooks: { allowedHosts: webhooks?.allowedHosts ?? [] },
  }
  const timings = {
    ...{ gatherMs: 20, pollMs: 100, backOffMs: 250, graceMs: 500 },
    // Tests hold what the provider is sent, for as long as the machine takes.
    pushTimeoutMs: unhurried.callMs,
    ...jobs?.timings,
  }
  const stopWatching = workers?.start(jobs?.log ?? app.log)
  const runsJobs = jobs && !jobs.isElsewhere
  const stopJobs = runsJobs ? await startJobs({ ...work, ...jobs, timings }) : undefined

  openWorlds.add(app)
  const expectIsolated = () =>
    expect(leaks.splice(0), 'sent of another app with the same user ids').toEqual([])
  return {
    url,
    app,
    addNamesakes,
    db,
    pool,
    metrics,
    cleanup,
    shutdown,
    sign: tokens.sign,
    databaseUrl: database.url,
    /** Expects that apps are isolated, of a server that goes on. */
    expectIsolated: async () => {
      expectIsolated()
      await expectTwinUntouched(db)
    },
    stop: () =>
      allInTurn(
        () => app.close(),
        () => stopJobs?.(),
        () => stopWatching?.(),
        cleanup.stop,
        expectIsolated,
        () => openWorlds.delete(app),
        () => Promise.all([pool.end({ timeout: 1 }), db.end({ timeout: 1 })]),
        database.drop,
      ),
  }
}
