import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import { createAdmission } from './core/admission.ts'
import { createAskBeforeSend } from './core/before-send.ts'
import type { Services } from './core/context.ts'
import type { EventBus } from './core/event-bus.ts'
import { createGuardedRequest } from './core/guarded-request.ts'
import { createLastActive } from './core/last-active.ts'
import type { Metrics } from './core/metrics.ts'
import { isAllowedOrigin } from './core/origins.ts'
import { createRevocations } from './core/revocations.ts'
import type { Shutdown } from './core/shutdown.ts'
import { createWebhookUrlCheck, type WebhookUrlOptions } from './core/webhook-urls.ts'
import { type Db, isDatabaseUnavailable } from './db/client.ts'
import { logOutages } from './db/outages.ts'
import { operations } from './features/index.ts'
import { createActingUsers } from './http/acting-users.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { type CallDependencies, createCall } from './http/call.ts'
import { createFastify, type FastifyOptions } from './http/fastify.ts'
import { instrument } from './http/instrument.ts'
import { serveDocs } from './http/openapi/docs.ts'
import { servePlayground } from './http/playground.ts'
import { createRateLimits, type RateLimits } from './http/rate-limits.ts'
import { type Calls, serveRest } from './http/rest.ts'
import { serveTrpc } from './http/trpc.ts'
import { boundUnreadAnswers } from './http/unread-answers.ts'
import { createSocketGuard, serveEndpoint, serveWebSockets } from './realtime/endpoint.ts'
import { observeListener } from './realtime/listener-watch.ts'
import { createPostgresBroker } from './realtime/postgres-broker.ts'
import { createRealtime, type RealtimeOptions } from './realtime/realtime.ts'
import { TrpcSocket } from './realtime/trpc-socket.ts'

export type AppOptions = {
  db: Db
  metrics: Metrics
  /** Where operations and jobs publish events. Created first, because both depend on it. */
  bus: EventBus
  shutdown: Shutdown
  http: Omit<FastifyOptions, 'isStopping' | 'metrics' | 'nodeId'> & {
    rateLimits: RateLimits
    hasDocsPage: boolean
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
  realtime: Pick<
    RealtimeOptions,
    'presenceGraceSeconds' | 'socketsPerUser' | 'eventMemoryBytes' | 'sendMemoryBytes' | 'timings'
  > & {
    /** The database of `db`, through which the nodes notify each other. */
    databaseUrl: string
  }
}

/** The complete server, ready to listen: every operation over REST and tRPC, and real time. */
export function buildApp(options: AppOptions) {
  const { db, metrics, bus, shutdown, http, urls } = options
  const { tokens, adminKey, userAdminAccess } = options.access
  const nodeId = randomUUID()
  const isStopping = shutdown.isAnnounced
  const app = createFastify({ ...http, isStopping, metrics, nodeId })
  const { sendMemoryBytes: mostBytes } = options.realtime
  boundUnreadAnswers(app.server, { mostBytes, metrics })
  const revocations = createRevocations()
  const admit = createAdmission({ poolSize: db.poolSize, metrics })
  const lastActive = createLastActive(db)
  logOutages(db.outages, app.log)
  // An unavailable database has a line of its own; any other error is a bug.
  const report = (error: unknown, problem: string) => {
    if (isDatabaseUnavailable(error)) app.log.debug(problem)
    else app.log.error({ err: error }, problem)
  }
  const { databaseUrl, timings } = options.realtime
  const broker = createPostgresBroker({ url: databaseUrl, nodeId, report, timings })
  observeListener(metrics.registry, broker.listener)
  const realtime = createRealtime({
    ...options.realtime,
    db,
    admit,
    tokens,
    broker,
    nodeId,
    metrics,
    report,
    revocations,
    lastActive,
    sockets: () => app.websocketServer.clients,
  })

  const services: Services = {
    tokens,
    version: limits.apiVersion,
    userAdminAccess,
    revocations,
    lastActive,
    pingDatabase: db.ping,
    isOutage: realtime.isOutage,
    isStopping,
    publisher: bus.publisher,
    ...options.jobs,
    inviteUrl: inviteUrl(urls),
    webhookUrlProblem: createWebhookUrlCheck(options.webhooks),
    askBeforeSend: createAskBeforeSend({
      request: createGuardedRequest(options.webhooks),
      metrics,
      log: app.log,
    }),
    get wsUrl() {
      return urls.wsUrl()
    },
  }
  const rateLimits = createRateLimits(http.rateLimits)
  const { takeUnknownKey } = rateLimits
  const calls = createCalls(metrics, {
    db,
    admit,
    authenticate: createAuthenticate({ db, admit, tokens, adminKey, revocations, takeUnknownKey }),
    actAs: createActingUsers({ db, admit, revocations }),
    rateLimits,
    services,
    metrics,
  })
  const guardSocket = createSocketGuard({
    isAllowedOrigin: (origin) => isAllowedOrigin(http.allowedOrigins, origin),
    isClosing: realtime.isClosing,
    isOutage: realtime.isOutage,
  })
  serveWebSockets(app, { metrics, close: realtime.closeSessions })
  serveEndpoint(app, { node: realtime.node, guardSocket })
  serveRest(app, calls)
  serveTrpc(app, calls, {
    wrapSocket: (socket) => new TrpcSocket(socket, realtime.node),
    guardSocket,
    timings: realtime.node.timings,
  })
  serveDocs(app, { hasPage: http.hasDocsPage })
  const mintToken = calls.tokens.create?.call
  if (http.demoApiKey !== undefined && mintToken)
    servePlayground(app, { mintToken, demoApiKey: http.demoApiKey, ...urls })

  const unsubscribe = bus.subscribe(realtime.publisher)
  const unsubscribeShutdown = shutdown.subscribe(realtime.sendAway)
  app.addHook('onReady', realtime.start)
  app.addHook('onClose', async () => {
    unsubscribe()
    unsubscribeShutdown()
    await realtime.stop()
    await lastActive.flush().catch(() => {}) // the database may be unavailable
  })
  return app
}

const inviteUrl =
  ({ inviteUrl, publicUrl }: AppOptions['urls']) =>
  (token: string) =>
    (inviteUrl ?? `${publicUrl()}/invites/{token}`).replaceAll('{token}', token)

/** Every operation as an instrumented call, by noun and verb. */
function createCalls(metrics: Metrics, dependencies: CallDependencies) {
  const calls: { [noun: string]: Calls[keyof Calls] } = {}
  for (const [noun, implementations] of Object.entries(operations)) {
    const verbs: Calls[keyof Calls] = {}
    for (const [verb, implementation] of Object.entries(implementations)) {
      const call = createCall(dependencies, implementation)
      const operation = `${noun}.${verb}`
      verbs[verb] = { op: implementation.op, call: instrument(metrics, { operation, call }) }
    }
    calls[noun] = verbs
  }
  return calls as Calls // the same nouns and verbs
}
