import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { type Admit, createAdmission } from './core/admission.ts'
import { createAskBeforeSend } from './core/before-send.ts'
import type { Services } from './core/context.ts'
import type { EventBus } from './core/event-bus.ts'
import { createGuardedRequest } from './core/guarded-request.ts'
import { createKeyUses, type KeyUses } from './core/key-uses.ts'
import { createLastActive, type LastActive } from './core/last-active.ts'
import type { Metrics } from './core/metrics.ts'
import { isAllowedOrigin } from './core/origins.ts'
import { createRevocations, type Revocations } from './core/revocations.ts'
import type { Shutdown } from './core/shutdown.ts'
import type { Streams } from './core/streams.ts'
import { createWebhookUrlCheck, type WebhookUrlOptions } from './core/webhook-urls.ts'
import { type Db, isDatabaseUnavailable } from './db/client.ts'
import { logOutages } from './db/outages.ts'
import { createActingUsers } from './http/acting-users.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { boundMemory } from './http/bounded-memory.ts'
import { instrumentedCalls } from './http/calls.ts'
import { serveConsole } from './http/console.ts'
import { createFastify, type FastifyOptions } from './http/fastify.ts'
import { serveDocs } from './http/openapi/docs.ts'
import { servePlayground } from './http/playground.ts'
import { createRateLimits, type RateLimits } from './http/rate-limits.ts'
import { type Calls, serveRest } from './http/rest.ts'
import {
  createSharedWindows,
  type SharedWindows,
  type SharedWindowsOptions,
} from './http/shared-windows.ts'
import { serveTrpc } from './http/trpc.ts'
import { createNodeBroker } from './realtime/broker/node-broker.ts'
import { createRealtime, type RealtimeSettings } from './realtime/realtime.ts'
import { createGuards, serveEndpoint, serveWebSockets } from './realtime/sockets/endpoint.ts'
import { Strangers } from './realtime/sockets/strangers.ts'
import { serveStreams } from './realtime/sockets/stream-endpoint.ts'
import { createStreams } from './realtime/streams/index.ts'
import { TrpcSocket } from './realtime/trpc/socket.ts'

export type AppOptions = {
  db: Db
  metrics: Metrics
  /** Where operations and jobs publish events. Created first, because both depend on it. */
  bus: EventBus
  shutdown: Shutdown
  http: Omit<FastifyOptions, 'isStopping' | 'metrics' | 'nodeId'> & {
    rateLimits: RateLimits
    hasDocsPage: boolean
    hasConsole: boolean
    heartbeatMs?: number
    /** The API key of the demo app. If it is set, /playground is served. */
    demoApiKey?: string | undefined
  }
  access: Pick<Services, 'tokens' | 'userAdminAccess'> & { adminKey: string | undefined }
  /** Functions, because the port may only be known once the server listens. */
  urls: {
    publicUrl: () => string
    wsUrl: () => string
    /** The page that accepts invites; contains `{token}`. */
    inviteUrl?: string | undefined
  }
  webhooks: WebhookUrlOptions
  jobs: Pick<Services, 'erasure' | 'staging' | 'workers' | 'providerPreferences'>
  realtime: RealtimeSettings & {
    /** The database of `db`, through which the nodes notify each other without Redis. */
    databaseUrl: string
  }
  /** Shared by the nodes, beside the database. */
  redis?: SharedWindowsOptions | undefined
}

/** The complete server, ready to listen: every operation over REST and tRPC, and real time. */
export function buildApp(options: AppOptions) {
  const { db, metrics, bus, shutdown, http } = options
  const nodeId = randomUUID()
  const app = createFastify({ ...http, isStopping: shutdown.isEnding, metrics, nodeId })
  logOutages(db.outages, app.log)
  const shared: SharedParts = {
    admit: createAdmission({ poolSize: db.poolSize, metrics }),
    revocations: createRevocations(),
    lastActive: createLastActive(db),
    keyUses: createKeyUses(db),
    sharedWindows: options.redis && createSharedWindows(options.redis),
  }
  const report = reporter(app.log)
  const realtime = startRealtime(options, { app, nodeId, report, ...shared })
  const mostBytes = options.realtime.sendMemoryBytes
  boundMemory(app, { mostBytes, metrics, turns: realtime.node.commandTurns })
  const streams = createStreams({
    db,
    publisher: bus.publisher,
    staging: options.jobs.staging,
    timings: options.realtime.timings,
    report,
  })
  const calls = createCalls(options, { realtime, streams, log: app.log, ...shared })
  serve(app, options, { calls, realtime })

  const unsubscribe = bus.subscribe(realtime.publisher)
  const unsubscribeShutdown = shutdown.subscribe(realtime.sendAway)
  app.addHook('onReady', realtime.start)
  app.addHook('onReady', async () => streams.start())
  app.addHook('onClose', async () => {
    await streams.stop()
    unsubscribe()
    unsubscribeShutdown()
    await realtime.stop()
    shared.sharedWindows?.close()
    // The database may be unavailable.
    await Promise.allSettled([shared.lastActive.flush(), shared.keyUses.flush()])
  })
  return app
}

type Report = (error: unknown, problem: string) => void
/** An unavailable database has a line of its own; any other error is a bug. */
const reporter =
  (log: FastifyBaseLogger): Report =>
  (error, problem) => {
    if (isDatabaseUnavailable(error)) log.debug(problem)
    else log.error({ err: error }, problem)
  }

/** Used by calls and by real time. */
type SharedParts = {
  admit: Admit
  revocations: Revocations
  lastActive: LastActive
  keyUses: KeyUses
  sharedWindows: SharedWindows | undefined
}
type Realtime = ReturnType<typeof startRealtime>
type ServerParts = SharedParts & { realtime: Realtime; streams: Streams; log: FastifyBaseLogger }

/** Real time on this node, with the broker that connects it to the other nodes. */
function startRealtime(
  { db, metrics, access, redis, realtime: { databaseUrl, ...settings } }: AppOptions,
  {
    app,
    nodeId,
    report,
    ...shared
  }: SharedParts & { app: FastifyInstance; nodeId: string; report: Report },
) {
  const { timings } = settings
  const { log } = app
  const broker = createNodeBroker({ databaseUrl, redis, nodeId, log, report, timings, metrics })
  const realtime = createRealtime({
    ...settings,
    ...shared,
    db,
    tokens: access.tokens,
    broker,
    nodeId,
    metrics,
    report,
    sockets: () => app.websocketServer.clients,
  })
  return { ...realtime, redisState: broker.redisState }
}

/** Every operation as an instrumented call, by noun and verb. */
function createCalls(options: AppOptions, { admit, sharedWindows, ...parts }: ServerParts) {
  const { db, metrics, access, http } = options
  const { tokens, adminKey } = access
  const { revocations, keyUses, log } = parts
  const rateLimits = createRateLimits(http.rateLimits, sharedWindows)
  return instrumentedCalls(metrics, {
    db,
    admit,
    authenticate: createAuthenticate({
      db,
      admit,
      tokens,
      adminKey,
      revocations,
      keyUses,
      log,
      ...rateLimits,
    }),
    actAs: createActingUsers({ db, admit, revocations }),
    rateLimits,
    services: servicesOf(options, parts),
    metrics,
  })
}

const servicesOf = (
  { db, metrics, bus, shutdown, access, urls, webhooks, jobs }: AppOptions,
  { realtime, streams, log, revocations, lastActive }: Omit<ServerParts, 'admit' | 'sharedWindows'>,
): Services => ({
  tokens: access.tokens,
  version: limits.apiVersion,
  userAdminAccess: access.userAdminAccess,
  revocations,
  lastActive,
  streams,
  pingDatabase: db.ping,
  isOutage: realtime.isOutage,
  redis: realtime.redisState,
  isStopping: shutdown.isAnnounced,
  publisher: bus.publisher,
  ...jobs,
  inviteUrl: inviteUrl(urls),
  webhookUrlProblem: createWebhookUrlCheck(webhooks),
  importMetrics: metrics,
  askBeforeSend: createAskBeforeSend({ request: createGuardedRequest(webhooks), metrics, log }),
  get wsUrl() {
    return urls.wsUrl()
  },
})

/** Serves calls, sockets, documents and pages: with a demo app, also the playground. */
function serve(
  app: FastifyInstance,
  { db, metrics, http, access: { adminKey }, urls, realtime: { sendMemoryBytes } }: AppOptions,
  { calls, realtime }: { calls: Calls; realtime: Realtime },
) {
  const guards = createGuards({
    isAllowedOrigin: (origin) => isAllowedOrigin(http.allowedOrigins, origin),
    isClosing: realtime.isClosing,
    isOutage: realtime.isOutage,
  })
  const { closeSessions: close } = realtime
  const strangers = new Strangers()
  serveWebSockets(app, { metrics, close, mostBytes: sendMemoryBytes, strangers })
  serveEndpoint(app, { node: realtime.node, guardSocket: guards.socket })
  serveStreams(app, { node: realtime.node, metrics, guards, strangers })
  serveRest(app, calls, { heartbeatMs: http.heartbeatMs })
  serveTrpc(app, calls, {
    wrapSocket: (socket) => new TrpcSocket(socket, realtime.node),
    guardSocket: guards.socket,
    timings: realtime.node.timings,
  })
  const mintToken = calls.tokens.create?.call
  if (http.demoApiKey !== undefined && mintToken)
    servePlayground(app, { mintToken, demoApiKey: http.demoApiKey, ...urls })
  const hasDemo = http.demoApiKey !== undefined
  const hasConsole = http.hasConsole && adminKey !== undefined
  serveDocs(app, { hasPage: http.hasDocsPage, hasDemo, hasConsole, wsUrl: urls.wsUrl })
  if (hasConsole) serveConsole(app, calls, { adminKey, publicUrl: urls.publicUrl, db })
}

const inviteUrl =
  ({ inviteUrl, publicUrl }: AppOptions['urls']) =>
  (token: string) =>
    (inviteUrl ?? `${publicUrl()}/invites/{token}`).replaceAll('{token}', token)
