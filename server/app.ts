import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import type { Services } from './core/context.ts'
import type { Relay } from './core/event-bus.ts'
import { createActivity } from './core/last-active.ts'
import type { Metrics } from './core/metrics.ts'
import { isAllowedOrigin } from './core/origins.ts'
import { createRevocations } from './core/revocations.ts'
import { type Db, isDatabaseTrouble } from './db/client.ts'
import { operations } from './features/index.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { createEdge, type EdgeOptions } from './http/fastify.ts'
import { timed } from './http/instrument.ts'
import { docs } from './http/openapi/docs.ts'
import { playground } from './http/playground.ts'
import { createRates, type Rates } from './http/rate-limits.ts'
import { type Calls, rest } from './http/rest.ts'
import { trpc } from './http/trpc.ts'
import { createAdmission, serveEndpoint, serveWebSockets } from './realtime/endpoint.ts'
import { createPostgresBroker } from './realtime/postgres-broker.ts'
import { createRealtime } from './realtime/realtime.ts'
import type { Timings } from './realtime/timings.ts'
import { listen } from './realtime/trpc-subscription.ts'

export type AppOptions = EdgeOptions &
  Pick<Services, 'tokens' | 'userAdminAccess' | 'cleanup' | 'outbox' | 'providerPreferences'> & {
    db: Db
    metrics: Metrics
    adminKey: string | undefined
    rates: Rates
    hasDocsPage: boolean
    /** With the key of the demo app there is /playground. */
    demoApiKey?: string | undefined
    publicUrl: () => string
    /** The page that accepts invites, with `{token}` in it. */
    inviteUrl?: string | undefined
    wsUrl: () => string
    /** What operations and jobs say, here or made before. */
    relay: Relay
    /** Where nodes meet: the same database as `db`. */
    databaseUrl: string
    presenceGraceSeconds: number
    timings?: Partial<Timings>
  }

/** The HTTP face: every operation over REST and tRPC. */
export function buildApp({
  db,
  metrics,
  tokens,
  adminKey,
  userAdminAccess,
  cleanup,
  outbox,
  providerPreferences,
  rates,
  publicUrl,
  inviteUrl,
  wsUrl,
  hasDocsPage,
  demoApiKey,
  relay,
  ...options
}: AppOptions) {
  const app = createEdge(options)
  const revocations = createRevocations()
  const activity = createActivity(db)
  // Trouble of the database passes; anything else is a fault of ours.
  const report = (error: unknown, problem: string) =>
    isDatabaseTrouble(error) ? app.log.warn(problem) : app.log.error({ err: error }, problem)
  const nodeId = randomUUID()
  const broker = createPostgresBroker({ url: options.databaseUrl, nodeId, report })
  const realtime = createRealtime({
    ...options,
    db,
    tokens,
    broker,
    nodeId,
    metrics,
    report,
    revocations,
    activity,
  })
  const edge = {
    db,
    authenticate: createAuthenticate({ db, tokens, adminKey, revocations }),
    rates: createRates(rates),
    services: {
      tokens,
      version: limits.apiVersion,
      userAdminAccess,
      revocations,
      activity,
      cleanup,
      outlet: relay.outlet,
      outbox,
      providerPreferences,
      inviteUrl: (token: string) =>
        (inviteUrl ?? `${publicUrl()}/invites/{token}`).replaceAll('{token}', token),
      // Known once the server listens.
      get wsUrl() {
        return wsUrl()
      },
    },
  }
  const calls = Object.fromEntries(
    Object.entries(operations).map(([noun, group]) => [
      noun,
      Object.fromEntries(
        Object.entries(group).map(([verb, implementation]) => [
          verb,
          {
            op: implementation.op,
            call: timed(metrics, {
              operation: `${noun}.${verb}`,
              call: createCall(edge, implementation),
            }),
          },
        ]),
      ),
    ]),
  ) as Calls // the same groups and names
  serveWebSockets(app, { metrics, close: realtime.closeSessions })
  const admitSocket = createAdmission({
    isAllowedOrigin: (origin) => isAllowedOrigin(options.allowedOrigins, origin),
    isClosing: realtime.isClosing,
  })
  serveEndpoint(app, { node: realtime.node, admitSocket })
  rest(app, calls)
  trpc(app, calls, { listen: (wanted) => listen(realtime.node, wanted), admitSocket })
  docs(app, { hasPage: hasDocsPage })
  const mint = calls.tokens.create?.call
  if (demoApiKey !== undefined && mint) playground(app, { mint, demoApiKey, publicUrl, wsUrl })
  const unsubscribe = relay.subscribe(realtime.outlet)
  app.addHook('onReady', realtime.start)
  app.addHook('onClose', async () => {
    unsubscribe()
    await realtime.stop()
    await activity.flush().catch(() => {}) // without a database there is nothing to write to
  })
  return app
}
