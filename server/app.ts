import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import type { Services } from './core/context.ts'
import type { EventBus } from './core/event-bus.ts'
import { createLastActive } from './core/last-active.ts'
import type { Metrics } from './core/metrics.ts'
import { isAllowedOrigin } from './core/origins.ts'
import { createRevocations } from './core/revocations.ts'
import { type Db, isDatabaseUnavailable } from './db/client.ts'
import { operations } from './features/index.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { createFastify, type FastifyOptions } from './http/fastify.ts'
import { instrument } from './http/instrument.ts'
import { docs } from './http/openapi/docs.ts'
import { playground } from './http/playground.ts'
import { createRateLimits, type RateLimits } from './http/rate-limits.ts'
import { type Calls, rest } from './http/rest.ts'
import { trpc } from './http/trpc.ts'
import { createSocketGuard, serveEndpoint, serveWebSockets } from './realtime/endpoint.ts'
import { createPostgresBroker } from './realtime/postgres-broker.ts'
import { createRealtime } from './realtime/realtime.ts'
import type { Timings } from './realtime/timings.ts'
import { subscribeToTopic } from './realtime/trpc-subscription.ts'

export type AppOptions = {
  db: Db
  metrics: Metrics
  /** What operations and jobs publish; created first, so that both can be given it. */
  bus: EventBus
  http: FastifyOptions & {
    rateLimits: RateLimits
    hasDocsPage: boolean
    /** The demo app's API key; with it, /playground is served. */
    demoApiKey?: string | undefined
  }
  access: Pick<Services, 'tokens' | 'userAdminAccess'> & { adminKey: string | undefined }
  /** Functions, because the port is only known once the server listens. */
  urls: {
    publicUrl: () => string
    wsUrl: () => string
    /** The page that accepts invites, with `{token}` in it. */
    inviteUrl?: string | undefined
  }
  jobs: Pick<Services, 'erasure' | 'staging' | 'providerPreferences'>
  realtime: {
    /** Where nodes meet: the same database as `db`. */
    databaseUrl: string
    presenceGraceSeconds: number
    timings?: Partial<Timings>
  }
}

/** The whole server, ready to listen: every operation over REST and tRPC, and real time. */
export function buildApp({ db, metrics, bus, http, access, urls, jobs, realtime }: AppOptions) {
  const app = createFastify(http)
  const revocations = createRevocations()
  const lastActive = createLastActive(db)
  // A database that is away comes back by itself; anything else is a fault of ours.
  const report = (error: unknown, problem: string) =>
    isDatabaseUnavailable(error) ? app.log.warn(problem) : app.log.error({ err: error }, problem)
  const nodeId = randomUUID()
  const broker = createPostgresBroker({ url: realtime.databaseUrl, nodeId, report })
  const { tokens } = access
  const live = createRealtime({
    ...realtime,
    db,
    tokens,
    broker,
    nodeId,
    metrics,
    report,
    revocations,
    lastActive,
  })

  const services: Services = {
    tokens,
    version: limits.apiVersion,
    userAdminAccess: access.userAdminAccess,
    revocations,
    lastActive,
    publisher: bus.publisher,
    ...jobs,
    inviteUrl: inviteUrl(urls),
    get wsUrl() {
      return urls.wsUrl()
    },
  }
  const calls = createCalls(metrics, {
    db,
    authenticate: createAuthenticate({ db, tokens, adminKey: access.adminKey, revocations }),
    rateLimits: createRateLimits(http.rateLimits),
    services,
  })
  const guardSocket = createSocketGuard({
    isAllowedOrigin: (origin) => isAllowedOrigin(http.allowedOrigins, origin),
    isClosing: live.isClosing,
  })
  serveWebSockets(app, { metrics, close: live.closeSessions })
  serveEndpoint(app, { node: live.node, guardSocket })
  rest(app, calls)
  trpc(app, calls, {
    subscribe: (topic) => subscribeToTopic(live.node, topic),
    admitSocket: guardSocket,
  })
  docs(app, { hasPage: http.hasDocsPage })
  const mint = calls.tokens.create?.call
  if (http.demoApiKey !== undefined && mint)
    playground(app, { mint, demoApiKey: http.demoApiKey, ...urls })

  const unsubscribe = bus.subscribe(live.publisher)
  app.addHook('onReady', live.start)
  app.addHook('onClose', async () => {
    unsubscribe()
    await live.stop()
    await lastActive.flush().catch(() => {}) // without a database there is nothing to write to
  })
  return app
}

const inviteUrl =
  ({ inviteUrl, publicUrl }: AppOptions['urls']) =>
  (token: string) =>
    (inviteUrl ?? `${publicUrl()}/invites/{token}`).replaceAll('{token}', token)

/** Every operation as a measured call, under its noun and verb. */
function createCalls(metrics: Metrics, edge: Parameters<typeof createCall>[0]) {
  const calls: { [noun: string]: Calls[keyof Calls] } = {}
  for (const [noun, group] of Object.entries(operations)) {
    const verbs: Calls[keyof Calls] = {}
    for (const [verb, implementation] of Object.entries(group)) {
      const call = createCall(edge, implementation)
      const operation = `${noun}.${verb}`
      verbs[verb] = { op: implementation.op, call: instrument(metrics, { operation, call }) }
    }
    calls[noun] = verbs
  }
  return calls as Calls // the same nouns and verbs
}
